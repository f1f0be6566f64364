"""A git repository of kernels: its commits, and their files in a folder of their own.

The file `history.json` of a folder of captures: which commit and which Triton each capture is of.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from irscope.compiling.processes.run_tool import git
from irscope.model import UserError
from irscope.model.files import check_regular, write_output

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


NAME, CAPTURES = "history.json", "captures"
SCHEMA = "irscope.history/1"


@dataclass(frozen=True, slots=True)
class Entry:
    """A commit compiled with one Triton.

    `capture` is the name of its file in the folder of captures, "" if nothing could be compiled; commits
    whose packages are equal share it. `content` identifies those packages, `launches` what was compiled of
    them. `problems` are lines about kernels that could not be compiled at this commit.
    """

    commit: str
    date: str
    subject: str
    triton: str
    capture: str
    content: str
    launches: str
    problems: tuple[str, ...] = ()

    def of(self, commit: Commit) -> Entry:
        """The same result for another commit."""
        return replace(self, commit=commit.hash, date=commit.date, subject=commit.subject)


@dataclass(frozen=True)
class History:
    """The entries of a folder by date; `name` and `url` are the repository's."""

    folder: Path
    name: str = ""
    url: str = ""
    entries: tuple[Entry, ...] = ()

    def capture(self, entry: Entry) -> Path:
        """The path of an entry's capture."""
        return self.folder / CAPTURES / entry.capture

    def find(self, triton: str, launches: str, content: str) -> Entry | None:
        """An entry with these packages, launches and Triton whose capture exists; None if there is none."""
        key = (triton, launches, content)
        for entry in self.entries:
            if (entry.triton, entry.launches, entry.content) == key and self.capture(entry).is_file():
                return entry
        return None

    def with_entry(self, entry: Entry) -> History:
        """The history with an entry in place of the one of the same commit and Triton."""
        others = [one for one in self.entries if (one.commit, one.triton) != (entry.commit, entry.triton)]
        return replace(self, entries=tuple(sorted([*others, entry], key=_date)))

    def write(self) -> None:
        """Writes the file. Raises UserError if it cannot be written."""
        document = {
            "schema": SCHEMA,
            "name": self.name,
            "url": self.url,
            "entries": [asdict(entry) for entry in self.entries],
        }
        text = json.dumps(document, indent=1)
        write_output(self.folder / NAME, f"{text}\n".encode(), force=True)


def read_history(folder: Path) -> History:
    """The history of a folder; an empty one if there is none yet. Raises UserError if it is damaged."""
    path = folder / NAME
    if not path.exists():
        return History(folder)
    try:
        check_regular(path)
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        entries = tuple(sorted(map(_entry, document["entries"]), key=_date))
        return History(folder, str(document["name"]), str(document["url"]), entries)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: not a history of irscope trends: {error}") from error


def _entry(found: Any) -> Entry:
    texts = {field.name: found[field.name] for field in fields(Entry) if field.name != "problems"}
    problems: Sequence[Any] = found["problems"]
    if not all(isinstance(text, str) for text in [*texts.values(), *problems]):
        raise ValueError("an entry has a value that is no text")
    # A capture is a file of the folder of captures: a path could name any other.
    if Path(texts["capture"]).name != texts["capture"]:
        raise ValueError(f"'{texts['capture']}' is no name of a capture")
    return Entry(**texts, problems=tuple(problems))


def _date(entry: Entry) -> str:
    """The date in UTC, as text that sorts."""
    from datetime import datetime, timezone

    try:
        return datetime.fromisoformat(entry.date.replace("Z", "+00:00")).astimezone(timezone.utc).isoformat()
    except (ValueError, OverflowError):
        return entry.date
