"""The sections of the home screen, and an entry of one: something to open."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from textual.message import Message


class Section(enum.Enum):
    """A section of the home screen; the value is its title."""

    WRITING = "Being written now"
    RECENT = "Recent captures"
    HERE = "Captures in this folder"
    LESSONS = "Lessons"
    SAMPLES = "Samples"
    MANUAL = "Manual"


@dataclass(frozen=True, slots=True)
class HomeEntry:
    """Something to open. `cells` follow the name: kernel, target, variants, time; the last line has `detail`.

    `path` is a capture, a sample or a page; a lesson has a `lesson` number instead. `missing`: the file
    was removed.
    """

    section: Section
    name: str
    cells: tuple[str, ...] = ()
    detail: str = ""
    path: Path | None = None
    lesson: int | None = None
    missing: bool = False

    @property
    def capture(self) -> bool:
        """Whether it is a capture."""
        return self.section in (Section.WRITING, Section.RECENT, Section.HERE)

    def matches(self, query: str) -> bool:
        """Whether each word of `query` is in what the screen shows of it; ignores case."""
        text = " ".join((self.section.value, self.name, *self.cells, self.detail)).lower()
        return all(word in text for word in query.lower().split())


class EntryOpened(Message):
    """The user wants to open an entry."""

    def __init__(self, entry: HomeEntry) -> None:
        super().__init__()
        self.entry = entry
