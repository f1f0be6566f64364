"""A git repository of kernels: its commits, and their files in a folder of their own."""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irscope.model import UserError
from irscope.toolchain.git import git

_FORMAT = "%H%x00%cI%x00%s"
_HOSTS = re.compile(r"(?:https://|git@|ssh://git@)((?:github|gitlab)\.com)[/:]([\w./-]+?)(?:\.git)?/?")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its hash, its committer's date (ISO 8601, with the offset), the first line of its message."""

    hash: str
    date: str
    subject: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree; `root` is its top folder."""

    root: Path

    @property
    def name(self) -> str:
        """The name on GitHub or GitLab, else that of the top folder."""
        return self.url.rpartition("/")[2] or self.root.name

    @property
    def url(self) -> str:
        """The address of the repository on GitHub or GitLab; "" if it is on neither."""
        match = _HOSTS.fullmatch(self._try("remote", "get-url", "origin"))
        return f"https://{match[1]}/{match[2]}" if match else ""

    def commits(self, revisions: str, folders: Sequence[str] = ()) -> list[Commit]:
        """The commits of a range (`v1.0..HEAD`, `-20`) that touch these folders (none: all), oldest first.

        A single revision is that commit alone. Raises UserError if git does not know it.
        """
        if re.fullmatch(r"-\d{1,6}", revisions):
            words = [f"--max-count={revisions[1:]}"]
        elif ".." in revisions:
            words = ["--end-of-options", revisions]
        else:
            words, folders = ["--max-count=1", "--end-of-options", revisions], ()
        found = self._git("log", "--first-parent", f"--format={_FORMAT}", *words, "--", *folders)
        lines = [line.split("\0") for line in found.splitlines() if line]
        return [Commit(*parts) for parts in reversed(lines)]

    def tree(self, commit: Commit, folder: str) -> str:
        """The hash of a folder's content at a commit; "" if it did not exist."""
        return self._try("rev-parse", "--verify", "--end-of-options", f"{commit.hash}:{folder}")

    def export(self, commit: Commit, folder: Path, inside: Sequence[str]) -> None:
        """Writes the folders `inside` as of a commit into a folder, without touching the work tree.

        A folder that the commit lacks is left out.
        """
        archive = folder.with_suffix(".tar")
        there = [one for one in inside if one == "." or self.tree(commit, one)]
        folder.mkdir(parents=True)
        if not there:
            return
        self._git("archive", "--format=tar", f"--output={archive}", commit.hash, "--", *there)
        with tarfile.open(archive) as files:
            if sys.version_info >= (3, 12) or hasattr(tarfile, "data_filter"):
                files.extractall(folder, filter="data")
            else:
                files.extractall(folder)  # noqa: S202 - git wrote the archive
        archive.unlink()

    def _try(self, *words: str) -> str:
        try:
            return self._git(*words).strip()
        except UserError:
            return ""

    def _git(self, *words: str) -> str:
        return git(self.root, *words)


def open_repository(path: Path) -> Repository:
    """The repository that a folder is in. Raises UserError if it is in none."""
    if not path.is_dir():
        raise UserError(f"{path}: no such folder; name a git repository with --repository")
    return Repository(Path(git(path, "rev-parse", "--show-toplevel")))
