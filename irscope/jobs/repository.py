"""Commits of a user's repository, whose files are written to a temporary folder.

Nothing in the repository is written; hooks do not run. The folder is removed at the end, also if the process
is killed.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from irscope.compiling.processes.run_tool import run_tool
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.model.text import one_line

# Variables that would make git work on another repository: a hook that starts irscope sets them.
_OF_ANOTHER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
# Settings of the repository that name programs, or leave files out, are replaced.
_SETTINGS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.sparseCheckout=false",
)
_SECONDS = 300.0
_FORMAT = "--format=%H%x00%s%x00%an%x00%as%x00%cI"
_HOSTS = re.compile(r"(?:https://|git@|ssh://git@)((?:github|gitlab)\.com)[/:]([\w./-]+?)(?:\.git)?/?")


@frozen
class Commit:
    """A commit: its full hash, the first line of its message, its author and date (YYYY-MM-DD).

    `committed` is the time of the commit in ISO 8601, with the offset.
    """

    sha: str
    subject: str
    author: str
    date: str
    committed: str

    @property
    def short(self) -> str:
        """The first ten digits of the hash, and the subject."""
        return f"{self.sha[:10]} {self.subject}".rstrip()


class Repository:
    """The repository that a file or folder is in. Raises UserError if there is none, or no git."""

    def __init__(self, path: Path) -> None:
        folder = path if path.is_dir() else path.absolute().parent
        while not folder.is_dir():
            folder = folder.parent
        self.root = folder
        self.root = Path(self.git("rev-parse", "--show-toplevel"))

    @property
    def name(self) -> str:
        """The name on GitHub or GitLab, else that of the top folder."""
        return self.url.rpartition("/")[2] or self.root.name

    @property
    def url(self) -> str:
        """The address of the repository on GitHub or GitLab; "" if it is on neither."""
        match = _HOSTS.fullmatch(self._try("remote", "get-url", "origin"))
        return f"https://{match[1]}/{match[2]}" if match else ""

    def git(self, *arguments: str, variables: Mapping[str, str] | None = None) -> str:
        """Return the output of a git command, without the last line feed.

        Raises UserError with git's message.
        """
        environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER}
        environment |= {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        environment |= variables or {}
        command: list[str | Path] = ["git", "-C", self.root, *_SETTINGS, *arguments]
        try:
            done = run_tool(command, seconds=_SECONDS, environment=environment)
        except FileNotFoundError as error:
            raise UserError("git is not installed; irscope reads the commits with it") from error
        except OSError as error:
            raise UserError(f"git: cannot be started: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise UserError(f"git {arguments[0]}: not done after {_SECONDS:g} s in {self.root}") from error
        if done.returncode:
            message = one_line(done.stderr.decode("utf-8", "replace").strip()) or f"exit {done.returncode}"
            raise UserError(f"{self.root}: git {arguments[0]}: {message.removeprefix('fatal: ')}")
        return done.stdout.decode("utf-8", "replace").rstrip("\n")

    def _try(self, *arguments: str) -> str:
        try:
            return self.git(*arguments).strip()
        except UserError:
            return ""

    def resolve(self, name: str) -> str:
        """Return the hash of the commit called `name`. Raises UserError."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except UserError as error:
            raise UserError(f"--git: no commit '{name}' in {self.root}") from error

    def commit(self, sha: str) -> Commit:
        """Return a commit's message and author."""
        return self.commits(sha)[0]

    def commits(self, revisions: str, folders: Sequence[str] = ()) -> list[Commit]:
        """Return a range of commits (`v1.0..HEAD`, `-20`) that touch the folders (none: all), oldest first.

        A single revision is that commit alone. Raises UserError if git does not know it.
        """
        if re.fullmatch(r"-\d{1,6}", revisions):
            words = [f"--max-count={revisions[1:]}"]
        elif ".." in revisions:
            words = ["--end-of-options", revisions]
        else:
            words, folders = ["--max-count=1", "--end-of-options", revisions], ()
        lines = self.git("log", "--first-parent", _FORMAT, *words, "--", *folders).split("\n")
        return [Commit(*line.split("\0")) for line in reversed(lines) if line]

    def check_ancestor(self, good: str, bad: str) -> None:
        """Raise UserError if `good` is not an ancestor of `bad`."""
        try:
            self.git("merge-base", "--is-ancestor", good, bad)
        except UserError as error:
            raise UserError(f"--git: {good[:10]} is not an ancestor of {bad[:10]}") from error

    def parents(self, sha: str) -> list[str]:
        """Return the parents of a commit, the first one first."""
        return self.git("rev-list", "--parents", "-1", sha).split()[1:]

    def tree(self, sha: str, folder: str = ".") -> str:
        """Return the hash of a folder's files at a commit: equal for equal files; "" if it did not exist."""
        return self._try("rev-parse", "--verify", "--end-of-options", f"{sha}:./{folder}")

    def candidates(self, good: Collection[str], bad: str) -> list[str]:
        """Return the commits that may be the first bad one, the best to test first; `bad` is one."""
        lines = self.git("rev-list", "--bisect-all", bad, "--not", *good).splitlines()
        return [line.partition(" ")[0] for line in lines]

    def relative_path(self, file: Path) -> Path:
        """Return a file's path in the repository. Raises UserError if it is outside."""
        try:
            return file.resolve().relative_to(self.root.resolve())
        except ValueError as error:
            raise UserError(f"{file}: not in the repository {self.root}") from error


@contextmanager
def checkouts(repository: Repository, name: str = "") -> Iterator[Callable[[str], Path]]:
    """Yield a function from a commit to a folder with its files, which the next call changes.

    The folder is called `name` ("": like the repository's, which may be a package). An index next to it says
    what is in it, so that git updates what differs and writes nothing into the user's repository.
    """
    with temporary_folder("irscope-commit-") as base:
        folder = Path(base, name or repository.root.name)
        folder.mkdir()
        git = partial(
            repository.git, variables={"GIT_INDEX_FILE": f"{base}/index", "GIT_WORK_TREE": str(folder)}
        )

        def check_out(sha: str) -> Path:
            git("read-tree", "--reset", "-u", sha)
            git("clean", "-ffdxq", ":/")
            return folder

        yield check_out
