"""The entries of the home screen: captures, lessons and samples. Reads no capture in full.

The sections of the home screen, and an entry of one: something to open.
"""

from __future__ import annotations

import enum
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from textual.message import Message

from irscope.model import UserError
from irscope.model.records import frozen
from irscope.model.text import has_words, pluralize
from irscope.tui.settings import CaptureState
from irscope.workspace import CaptureOverview
from irscope.workspace.growth import Growth, captures_in


class Section(enum.Enum):
    """A section of the home screen; the value is its title."""

    WRITING = "Being written now"
    RECENT = "Recent captures"
    HERE = "Captures in this folder"
    LESSONS = "Lessons"
    SAMPLES = "Samples"


@frozen
class HomeEntry:
    """Something to open. `cells` follow the name: kernel, target, variants, time; the last line has `detail`.

    `path` is a capture or a sample; a lesson has a `lesson` number instead. `missing`: the file
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
        """Return True if it is a capture."""
        return self.section in (Section.WRITING, Section.RECENT, Section.HERE)

    def matches(self, query: str) -> bool:
        """Return True if each word of `query` is in what the screen shows of it; ignore case."""
        return has_words(" ".join((self.section.value, self.name, *self.cells, self.detail)), query)


class EntryOpened(Message):
    """The user wants to open an entry."""

    def __init__(self, entry: HomeEntry) -> None:
        super().__init__()
        self.entry = entry


def recent_entries(states: Iterable[CaptureState], folder: Path) -> list[HomeEntry]:
    """Return the recent captures, from what was remembered when they were open."""
    return [
        HomeEntry(
            Section.RECENT,
            _short(Path(state.path), folder),
            (
                _list(state.kernels),
                _list(state.targets),
                f"{state.variants:,}",
                age(state.opened),
            ),
            state.path,
            Path(state.path),
            missing=not os.path.lexists(state.path),
        )
        for state in states
    ]


def writing_entries(paths: Iterable[Path], folder: Path) -> Iterator[HomeEntry]:
    """Those of `paths` that a process is writing now."""
    for path in dict.fromkeys(Path(os.path.realpath(path)) for path in paths):
        growth = Growth.read(path)
        if growth.writer is not None and growth.running:
            yield described(HomeEntry(Section.WRITING, _short(path, folder), (), growth.writer.holder, path))


def folder_entries(folder: Path) -> list[HomeEntry]:
    """Return the captures in a folder and in those in it, newest first.

    `described` adds what is in them.
    """
    return [
        HomeEntry(Section.HERE, _short(path, folder), ("", "", "", _modified(path)), str(path), path)
        for path in captures_in(folder)
    ]


def described(entry: HomeEntry) -> HomeEntry:
    """Add the kernels, targets and variants to the entry of a capture; open the file for a moment."""
    if entry.path is None:
        return entry
    try:
        contents = CaptureOverview.read(entry.path)
    except UserError as error:
        return replace(entry, detail=str(error))
    return replace(
        entry, cells=(_list(contents.kernels), _list(contents.targets), contents.count, _modified(entry.path))
    )


def lesson_entries() -> list[HomeEntry]:
    """Return the lessons."""
    from irscope.learn.lesson import lessons

    return [
        HomeEntry(
            Section.LESSONS,
            f"{lesson.number:2}  {lesson.title}",
            detail=f"irscope learn {lesson.number}: {pluralize(len(lesson.steps), 'question')}; compiles "
            f"{', '.join(dict.fromkeys(sweep.name for sweep in lesson.sweeps))}, which takes seconds",
            lesson=lesson.number,
        )
        for lesson in lessons()
    ]


def sample_entries() -> list[HomeEntry]:
    """Return the samples; opening one compiles it."""
    from irscope.learn.sample_commands import samples

    return [
        HomeEntry(
            Section.SAMPLES,
            sample.path.name,
            (sample.title,),
            f"{sample.title}; Enter compiles it",
            sample.path,
        )
        for sample in samples()
    ]


def age(since: float) -> str:
    """Return how long ago a time in seconds since 1970 was.

    `just now`, `5 minutes ago`, `2026-03-01`
    """
    seconds = max(time.time() - since, 0)
    if seconds < 60:
        return "just now"
    for unit, length, limit in (("minute", 60, 60), ("hour", 3600, 24), ("day", 86400, 14)):
        if seconds < length * limit:
            return f"{pluralize(int(seconds // length), unit)} ago"
    return time.strftime("%Y-%m-%d", time.localtime(since))


def _short(path: Path, folder: Path) -> str:
    """Return the path without suffix, from `folder` or the home folder if it is in one of them."""
    path = path.with_suffix("") if path.suffix == ".irscope" else path
    for base, prefix in ((folder, ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return f"{prefix}{path.relative_to(base)}"
    return str(path)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _modified(path: Path) -> str:
    try:
        return age(path.stat().st_mtime)
    except OSError:
        return ""
