"""The home screen: recent captures, running sweeps, captures here, lessons, samples.

The list of the home screen: sections of things to open, each short until it is unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui.background import Background
from irscope.tui.bindings import CLOSE, EXPLAIN, FILTER_KEYS, IN_HOME, KeyGroup
from irscope.tui.home_entries import (
    EntryOpened,
    HomeEntry,
    Section,
    described,
    folder_entries,
    lesson_entries,
    recent_entries,
    sample_entries,
    writing_entries,
)
from irscope.tui.paint import cell
from irscope.tui.screens.reading import FilteringScreen
from irscope.tui.settings import CaptureState, StateFolder
from irscope.tui.widgets.bars import Bar, KeyHints, Label
from irscope.tui.widgets.line_view import HEADING, ItemView, LineView, Piece

# Entries of a folded section, unless more fit.
_FEW = {Section.LESSONS: 14, Section.SAMPLES: 4}
_DEFAULT_FEW = 6
# The widths of kernel, target, variants and time after the name, in narrow and in wide terminals.
_CELLS, _WIDE_CELLS, _WIDE = (16, 9, 8, 14), (30, 22, 9, 16), 120
_GAP, _MAX_NAME = 2, 60
# Of the name of a lesson, sample or page that has a title after it.
_NAME = 24


class HomeLine(NamedTuple):
    """A title, or an entry below it."""

    section: Section
    text: str
    entry: HomeEntry | None = None

    @property
    def key(self) -> tuple[Section, str]:
        """Identify the title or the entry, whatever else is shown."""
        return self.section, self.entry.name if self.entry else ""


class HomeView(ItemView[HomeLine]):
    """Sections and their entries; Enter on a title unfolds its section."""

    KEYS: ClassVar[KeyGroup] = IN_HOME
    COMPONENT_CLASSES: ClassVar[set[str]] = {"home--section", "home--missing"}

    def __init__(self) -> None:
        super().__init__()
        self._lists: dict[Section, Sequence[HomeEntry]] = {}
        self._unfolded: set[Section] = set()
        self._query = ""

    @property
    def entry(self) -> HomeEntry | None:
        """Return the entry under the cursor, or None on a title."""
        return self.current.entry if self.current else None

    def show_section(self, section: Section, entries: Sequence[HomeEntry]) -> None:
        """Show the entries of a section; the cursor does not move."""
        self._lists[section] = entries
        self._lay_out()

    def entries(self, section: Section) -> Sequence[HomeEntry]:
        """Return the entries of a section."""
        return self._lists.get(section, ())

    def filter(self, query: str) -> None:
        """Show only entries that match, of every section."""
        self._query = query.strip()
        self._lay_out()
        self.cursor = next((index for index, line in enumerate(self.items) if line.entry), 0)

    def go_to_section(self, section: Section, name: str = "") -> None:
        """Move the cursor to the first entry of a section, or to the one called `name`."""
        for index, line in enumerate(self.items):
            if line.section is section and line.entry and name in ("", line.entry.name):
                self.scroll_to(y=max(index - 1, 0), animate=False, force=True)
                self.cursor = index
                return

    def _lay_out(self) -> None:
        before = self.current
        matching = {
            section: [entry for entry in self.entries(section) if entry.matches(self._query)]
            for section in Section
        }
        sizes = {section: self._shown(section, len(entries)) for section, entries in matching.items()}
        free = self.page_lines - sum(size + bool(size) for size in sizes.values())
        lines: list[HomeLine] = []
        for section, entries in matching.items():
            few = min(len(entries), sizes[section] + max(free, 0))
            free -= few - sizes[section]
            if entries:
                hidden = len(entries) - few
                more = f"   {hidden} more: Enter" if hidden > 0 else ""
                lines.append(HomeLine(section, f"{section.value} ({len(entries)}){more}"))
                lines += [HomeLine(section, entry.name, entry) for entry in entries[:few]]
        self.show(lines)
        same = (index for index, line in enumerate(lines) if before and line.key == before.key)
        self.set_reactive(LineView.cursor, next(same, self.cursor))

    def _shown(self, section: Section, count: int) -> int:
        """Return how many of `count` entries are shown even if the screen is full."""
        whole = bool(self._query) or section in self._unfolded
        return count if whole else min(count, _FEW.get(section, _DEFAULT_FEW))

    def on_resize(self) -> None:
        """Show as many entries as fit."""
        self._lay_out()
        super().on_resize()

    def landmarks(self) -> Sequence[int]:
        """Return the titles."""
        return [index for index, line in enumerate(self.items) if line.entry is None]

    def action_choose(self) -> None:
        """Open an entry, or unfolds a section or folds it."""
        if self.entry is not None:
            self.post_message(EntryOpened(self.entry))
        elif self.current:
            self._unfolded ^= {self.current.section}
            self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Unfold the section whose title is clicked, or open the entry that is clicked twice."""
        LineView.on_click(self, event)
        if event.y >= HEADING and (event.chain == 2 or self.entry is None):
            self.action_choose()

    def draw_heading(self, width: int) -> Strip:
        """Draw the titles of the columns of a capture; if there are none, how to make one."""
        if self._lists.get(Section.HERE) == [] and not self.entries(Section.RECENT):
            return self.bar("   your own kernel: irscope KERNEL.py, or irscope run PROGRAM.py", width)
        names = ("kernel", "target", "variants", "opened")
        return self.bar(f"   {_row('', names, width)}", width)

    def pieces(self, item: HomeLine, index: int, width: int) -> Sequence[Piece]:
        """Return a title or an entry."""
        entry = item.entry
        if entry is None:
            return [(f" {item.text}", "home--section")]
        text = _row(entry.name, entry.cells, width) if entry.capture else _title(entry, width)
        return [(f"   {text}", "home--missing" if entry.missing else "")]


def _row(name: str, cells: Sequence[str], width: int) -> str:
    """Return the name and the cells of a capture, in columns."""
    sizes = _WIDE_CELLS if width >= _WIDE else _CELLS
    room = min(max(width - sum(sizes) - _GAP * len(sizes) - 4, 12), _MAX_NAME)
    columns = zip((name, *cells), (room, *sizes), strict=False)
    return (" " * _GAP).join(cell(display_line(text), size, right=False) for text, size in columns)


def _title(entry: HomeEntry, width: int) -> str:
    name = display_line(entry.name).ljust(_NAME if entry.cells else 0)
    return cell(display_line("  ".join([name, *entry.cells])), width - 4, right=False).rstrip()


# The captures of a folder that are read between two redraws.
_BATCH = 10
_WRITING_SECONDS = 2.0


class HomeBar(Bar):
    """A line above or below the list."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"title--app", "title--note", "problem"}


class HomeScreen(FilteringScreen[None]):
    """Lists what there is to open; the cursor starts in section `start`, at `entry` if it has that one.

    `bottom`: there is no screen to go back to. `problem` is shown in the last line. `background` opens
    captures; lists that need none are read in a thread of their own, because a comparison of two big stages
    keeps `background` busy for seconds.
    """

    PANELS: ClassVar[Sequence[type[LineView]]] = (HomeView,)
    BINDINGS: ClassVar[list[BindingType]] = [
        *FILTER_KEYS,
        replace(EXPLAIN, applies=lambda screen: False),
        replace(CLOSE, applies=lambda screen: screen.can_close),
    ]

    def __init__(
        self,
        background: Background,
        states: StateFolder,
        start: Section,
        bottom: bool,
        problem: str = "",
        entry: str = "",
    ) -> None:
        self._view = HomeView()
        super().__init__(self._view, "filter: words of a name, kernel, target or section")
        self._note = HomeBar(id="home-note")
        self._background = background
        self._lister = Background()
        self._states = states
        self._start: Section | None = start
        self._bottom = bottom
        self._problem = problem
        self._entry = entry
        self._folder = Path.cwd()

    def compose(self) -> ComposeResult:
        """Yield the title, the list, the line about the entry under the cursor, the filter, the keys."""
        title = HomeBar(id="home-title")
        title.set_labels([Label(" irscope ", "title--app"), Label(f" {self._folder}", "title--note")])
        yield title
        yield self._view
        yield self._note
        yield self.filter_bar
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Read the lists after the first paint."""
        self._describe()
        self.call_after_refresh(self.action_refresh_lists)
        self.set_interval(_WRITING_SECONDS, self._follow_writers)

    def on_unmount(self) -> None:
        """End the thread that reads the lists."""
        self._lister.close()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """List what was opened meanwhile."""
        if self._start is None:
            self.action_refresh_lists()

    def action_refresh_lists(self) -> None:
        """Look for captures again."""
        self._read()

    @work(exclusive=True, group="home", exit_on_error=False)
    async def _read(self) -> None:
        """Fill the sections; reads each capture in the folder for a moment."""
        view, run = self._view, self._lister.run
        states = await run(self._states.recent)
        view.show_section(Section.RECENT, await run(recent_entries, states, self._folder))
        if self._start is Section.RECENT and states:
            self._place_cursor()
        for section, entries in _FIXED.items():  # before the folder, which may be a slow one
            view.show_section(section, await run(entries))
        folder_list = await run(folder_entries, self._folder)
        view.show_section(Section.HERE, folder_list)
        self._place_cursor()
        await self._open_captures(states, folder_list)
        self._describe()

    async def _open_captures(self, states: Sequence[CaptureState], here: list[HomeEntry]) -> None:
        """Add the captures that are being written, and what is in those of the folder."""
        view, run = self._view, self._background.run
        paths = [Path(state.path) for state in states] + [entry.path for entry in here if entry.path]
        view.show_section(Section.WRITING, await run(_listed, paths, self._folder))
        for first in range(0, len(here), _BATCH):
            here[first : first + _BATCH] = await run(_described, here[first : first + _BATCH])
            view.show_section(Section.HERE, here)

    @work(exclusive=True, group="writers", exit_on_error=False)
    async def _follow_writers(self) -> None:
        """Show how many variants the captures have that are being written."""
        view = self._view
        paths = [entry.path for entry in view.entries(Section.WRITING) if entry.path]
        if paths and self.is_current:
            view.show_section(Section.WRITING, await self._background.run(_listed, paths, self._folder))

    def _place_cursor(self) -> None:
        if self._start is not None:
            view = self._view
            start, self._start = self._start, None
            preferred = (start, Section.RECENT, Section.HERE, Section.LESSONS)
            view.go_to_section(next((section for section in preferred if view.entries(section)), start))
            view.go_to_section(start, self._entry)

    def filter_lines(self, query: str) -> None:
        """Show only entries that match."""
        self._view.filter(query)
        self._describe()

    @on(LineView.CursorMoved)
    def _describe(self) -> None:
        """Show the path of the entry under the cursor, or what is wrong."""
        entry = self._view.entry
        text = f"{entry.detail}: there is no such file any more" if entry and entry.missing else ""
        text = text or (entry.detail if entry else "")
        style = "problem" if self._problem or (entry and entry.missing) else "title--note"
        self._note.set_labels([Label(f" {self._problem or text} ", style)])
        self._problem = ""

    @property
    def can_close(self) -> bool:
        """Return False at the bottom, where there is nothing to go back to, unless there is a filter."""
        return not self._bottom or bool(self.filter_bar.value)


_FIXED: dict[Section, Callable[[], list[HomeEntry]]] = {
    Section.LESSONS: lesson_entries,
    Section.SAMPLES: sample_entries,
}


def _listed(paths: Sequence[Path], folder: Path) -> list[HomeEntry]:
    return list(writing_entries(paths, folder))


def _described(entries: Sequence[HomeEntry]) -> list[HomeEntry]:
    return list(map(described, entries))
