"""The file `history.json` of a folder of captures: which commit and which Triton each capture is of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from irscope.history.repository import Commit
from irscope.model import UserError
from irscope.model.files import check_regular, write_output

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
