"""Commits of a user's repository, each checked out in a worktree of its own in a temporary folder.

Nothing of the user's files, index, branches or HEAD is touched; hooks do not run. The worktree is removed at
the end, also after Ctrl-C or a termination.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from irscope.compiling.processes.run_tool import git
from irscope.model import UserError


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its full hash, the first line of its message, its author and date (YYYY-MM-DD)."""

    sha: str
    subject: str
    author: str
    date: str

    @property
    def short(self) -> str:
        """The first ten digits of the hash, and the subject."""
        return f"{self.sha[:10]} {self.subject}".rstrip()


class Repository:
    """The repository that a path is in. Raises UserError if there is none, or no git."""

    def __init__(self, path: Path) -> None:
        folder = path.absolute().parent
        while not folder.is_dir():
            folder = folder.parent
        self.root = folder
        self.root = Path(self.git("rev-parse", "--show-toplevel"))

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        """The output of a git command, without the last line feed. Raises UserError with git's message."""
        return git(folder or self.root, *arguments)

    def resolve(self, name: str) -> str:
        """The hash of the commit called `name`. Raises UserError."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except UserError as error:
            raise UserError(f"--git: no commit '{name}' in {self.root}") from error

    def commit(self, sha: str) -> Commit:
        """A commit's message and author."""
        subject, author, date = self.git("log", "-1", "--format=%s%x00%an%x00%as", sha).split("\0")
        return Commit(sha, subject, author, date)

    def check_ancestor(self, good: str, bad: str) -> None:
        """Raises UserError if `good` is not an ancestor of `bad`."""
        try:
            self.git("merge-base", "--is-ancestor", good, bad)
        except UserError as error:
            raise UserError(f"--git: {good[:10]} is not an ancestor of {bad[:10]}") from error

    def parents(self, sha: str) -> list[str]:
        """The parents of a commit, the first one first."""
        return self.git("rev-list", "--parents", "-1", sha).split()[1:]

    def tree(self, sha: str) -> str:
        """The hash of a commit's files: equal hashes, equal files."""
        return self.git("rev-parse", f"{sha}^{{tree}}")

    def candidates(self, good: Collection[str], bad: str) -> list[str]:
        """The commits that may be the first bad one, those that halve them best first; `bad` is one."""
        lines = self.git("rev-list", "--bisect-all", bad, "--not", *good).splitlines()
        return [line.partition(" ")[0] for line in lines]


@contextmanager
def checkouts(repository: Repository) -> Iterator[Callable[[str], Path]]:
    """A function from a commit to a folder with its files, which the next call changes to another commit's.

    The folder is a worktree, made when the function is first called and removed at the end of the block.
    """
    base = Path(tempfile.mkdtemp(prefix="irscope-bisect-"))
    folder = base / repository.root.name

    def check_out(sha: str) -> Path:
        if not folder.exists():
            repository.git("worktree", "add", "--quiet", "--detach", str(folder), sha)
        else:
            repository.git("checkout", "--quiet", "--detach", "--force", sha, folder=folder)
            repository.git("clean", "-ffdxq", folder=folder)
        return folder

    with _interrupted_by_termination():
        try:
            yield check_out
        finally:
            with suppress(UserError):
                if folder.exists():
                    repository.git("worktree", "remove", "--force", str(folder))
            shutil.rmtree(base, ignore_errors=True)
            with suppress(UserError):
                repository.git("worktree", "prune")


@contextmanager
def _interrupted_by_termination() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, unless a handler does that already.

    Only possible in the main thread.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {}
    with suppress(ValueError):
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def split_git_range(text: str) -> tuple[str, str]:
    """GOOD and BAD of `GOOD..BAD`; an empty end is HEAD, as in git. Raises UserError."""
    good, dots, bad = text.partition("..")
    if not dots or not (good or bad) or bad.startswith("."):
        raise UserError(f"--git {text}: write GOOD..BAD, two commits, such as v1.2..HEAD")
    return good or "HEAD", bad or "HEAD"


def relative_path(repository: Repository, file: Path) -> Path:
    """A file's path in its repository. Raises UserError if it is outside."""
    try:
        return file.resolve().relative_to(repository.root.resolve())
    except ValueError as error:
        raise UserError(f"{file}: not in the repository {repository.root}") from error
