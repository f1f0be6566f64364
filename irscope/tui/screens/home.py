"""The home screen: recent captures, running sweeps, captures here, lessons, samples, the manual.

The list of the home screen: sections of things to open, each short until it is unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui.background import Background
from irscope.tui.bindings import FILTER_KEYS, IN_HOME, LEAVE, KeyGroup
from irscope.tui.home_entries import (
    EntryOpened,
    HomeEntry,
    Section,
    described,
    folder_entries,
    lesson_entries,
    manual_entries,
    recent_entries,
    sample_entries,
    writing_entries,
)
from irscope.tui.paint import fitted
from irscope.tui.screens.reading import FilteringScreen
from irscope.tui.settings import CaptureState, StateFolder
from irscope.tui.widgets.bars import Bar, KeyHints, Label
from irscope.tui.widgets.line_view import HEADING, LineView

# Entries of a folded section, unless more fit.
_FEW = {Section.LESSONS: 14, Section.SAMPLES: 4, Section.MANUAL: 3}
_DEFAULT_FEW = 6
# The widths of kernel, target, variants and time after the name, in narrow and in wide terminals.
_CELLS, _WIDE_CELLS, _WIDE = (16, 9, 8, 14), (30, 22, 9, 16), 120
_GAP, _MAX_NAME = 2, 60
# Of the name of a lesson, sample or page that has a title after it.
_NAME = 24


class HomeView(LineView):
    """Sections and their entries; Enter on a title unfolds its section."""

    KEYS: ClassVar[KeyGroup] = IN_HOME
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"home--section", "home--missing"}

    def __init__(self) -> None:
        super().__init__()
        self._lists: dict[Section, Sequence[HomeEntry]] = {}
        self._unfolded: set[Section] = set()
        self._query = ""
        self._lines: list[tuple[Section, HomeEntry | str]] = []

    @property
    def current(self) -> HomeEntry | None:
        """Return the entry under the cursor, or None on a title."""
        line = self._lines[self.cursor][1] if self.cursor < len(self._lines) else None
        return line if isinstance(line, HomeEntry) else None

    def show(self, section: Section, entries: Sequence[HomeEntry]) -> None:
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
        self.cursor = next((i for i, (_, line) in enumerate(self._lines) if isinstance(line, HomeEntry)), 0)

    def go_to_section(self, section: Section, name: str = "") -> None:
        """Move the cursor to the first entry of a section, or to the one called `name`."""
        for index, (owner, line) in enumerate(self._lines):
            if owner is section and isinstance(line, HomeEntry) and name in ("", line.name):
                self.scroll_to(y=max(index - 1, 0), animate=False, force=True)
                self.cursor = index
                return

    def _lay_out(self) -> None:
        current_line = self._lines[self.cursor] if self.cursor < len(self._lines) else None
        self._lines = []
        matching = {
            section: [entry for entry in self._lists.get(section, ()) if entry.matches(self._query)]
            for section in Section
        }
        sizes = {section: self._shown(section, len(entries)) for section, entries in matching.items()}
        free = self.page_lines - sum(size + bool(size) for size in sizes.values())
        for section, entries in matching.items():
            few = min(len(entries), sizes[section] + max(free, 0))
            free -= few - sizes[section]
            if entries:
                hidden = len(entries) - few
                more = f"   {hidden} more: Enter" if hidden > 0 else ""
                self._lines.append((section, f"{section.value} ({len(entries)}){more}"))
                self._lines += [(section, entry) for entry in entries[:few]]
        self.lines_changed()
        if current_line is not None:
            self.set_reactive(LineView.cursor, self._find(current_line))

    def _shown(self, section: Section, count: int) -> int:
        """Return how many of `count` entries are shown even if the screen is full."""
        whole = bool(self._query) or section in self._unfolded
        return count if whole else min(count, _FEW.get(section, _DEFAULT_FEW))

    def on_resize(self) -> None:
        """Show as many entries as fit."""
        self._lay_out()
        super().on_resize()

    def _find(self, line: tuple[Section, HomeEntry | str]) -> int:
        """Return the line of the same entry, or of the title of the same section."""
        section, wanted_line = line
        for index, (owner, candidate) in enumerate(self._lines):
            if owner is section and _name(wanted_line) == _name(candidate):
                return index
        return self.validate_cursor(self.cursor)

    def landmarks(self) -> Sequence[int]:
        """Return the titles."""
        return [index for index, (_, line) in enumerate(self._lines) if isinstance(line, str)]

    def action_open(self) -> None:
        """Open an entry, or unfolds a section or folds it."""
        if self.current is not None:
            self.post_message(EntryOpened(self.current))
        elif self._lines:
            self._unfolded ^= {self._lines[self.cursor][0]}
            self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Unfold the section whose title is clicked, or open the entry that is clicked twice."""
        super().on_click(event)
        if event.y >= HEADING and (event.chain == 2 or self.current is None):
            self.action_open()

    def line_count(self) -> int:
        """Return the number of titles and entries."""
        return len(self._lines)

    def draw_heading(self, width: int) -> Strip:
        """Draw the titles of the columns of a capture."""
        names = ("kernel", "target", "variants", "opened")
        return self.bar(f"   {self._row('', names, width)}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a title or an entry."""
        _, line = self._lines[index]
        base = self.style("row--cursor") if index == self.cursor else self.base
        if isinstance(line, str):
            return Strip(fitted([Segment(f" {line}", base + self.ink("home--section"))], width, base), width)
        text = self._row(line.name, line.cells, width) if line.capture else _title(line, width)
        ink = base + self.ink("home--missing") if line.missing else base
        return Strip(fitted([Segment(f"   {text}", ink)], width, base), width)

    def _row(self, name: str, cells: Sequence[str], width: int) -> str:
        """Return the name and the cells of a capture, in columns."""
        sizes = _WIDE_CELLS if width >= _WIDE else _CELLS
        room = min(max(width - sum(sizes) - _GAP * len(sizes) - 4, 12), _MAX_NAME)
        parts = [_cell(name, room), *(_cell(cell, size) for cell, size in zip(cells, sizes, strict=False))]
        return (" " * _GAP).join(parts)


def _cell(text: str, width: int) -> str:
    visible_text = display_line(text)
    return (visible_text if len(visible_text) <= width else f"{visible_text[: width - 1]}…").ljust(width)


def _title(entry: HomeEntry, width: int) -> str:
    name = display_line(entry.name).ljust(_NAME if entry.cells else 0)
    return _cell("  ".join([name, *entry.cells]), width - 4).rstrip()


def _name(one: HomeEntry | str) -> str:
    return one.name if isinstance(one, HomeEntry) else one.partition(" (")[0]


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

    KEYS: ClassVar[Sequence[KeyGroup]] = (HomeView.KEYS,)
    PANELS: ClassVar[Sequence[type[LineView]]] = (HomeView,)
    BINDINGS: ClassVar[list[BindingType]] = [*FILTER_KEYS, *LEAVE.bindings]

    def __init__(
        self,
        background: Background,
        states: StateFolder,
        start: Section,
        bottom: bool,
        problem: str = "",
        entry: str = "",
    ) -> None:
        super().__init__()
        self._background = background
        self._lister = Background()
        self._states = states
        self._start: Section | None = start
        self._bottom = bottom
        self._problem = problem
        self._entry = entry
        self._folder = Path.cwd()
        self.search_bar.placeholder = "filter: words of a name, kernel, target or section"

    def compose(self) -> ComposeResult:
        """Yield the title, the list, the line about the entry under the cursor, the filter, the keys."""
        yield HomeBar(id="home-title")
        yield HomeView()
        yield HomeBar(id="home-note")
        yield self.search_bar
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Read the lists after the first paint."""
        title = [Label(" irscope ", "title--app"), Label(f" {self._folder}", "title--note")]
        self.query_one("#home-title", HomeBar).set_labels(title)
        self.query_one(HomeView).focus()
        self._describe()
        self.call_after_refresh(self.action_refresh_lists)
        self.set_interval(_WRITING_SECONDS, self._follow_writers)

    def on_unmount(self) -> None:
        """End the thread that reads the lists."""
        self._lister.close()

    def on_screen_resume(self) -> None:
        """List what was opened meanwhile."""
        if self._start is None:
            self.action_refresh_lists()

    def action_refresh_lists(self) -> None:
        """Look for captures again."""
        self._read()

    @work(exclusive=True, group="home", exit_on_error=False)
    async def _read(self) -> None:
        """Fill the sections; reads each capture in the folder for a moment."""
        view, run = self.query_one(HomeView), self._lister.run
        states = await run(self._states.recent)
        view.show(Section.RECENT, await run(recent_entries, states, self._folder))
        if self._start is Section.RECENT and states:
            self._place_cursor()
        for section, entries in _FIXED.items():  # before the folder, which may be a slow one
            view.show(section, await run(entries))
        folder_list = await run(folder_entries, self._folder)
        view.show(Section.HERE, folder_list)
        self._place_cursor()
        await self._open_captures(states, folder_list)
        self._describe()

    async def _open_captures(self, states: Sequence[CaptureState], here: list[HomeEntry]) -> None:
        """Add the captures that are being written, and what is in those of the folder."""
        view, run = self.query_one(HomeView), self._background.run
        paths = [Path(state.path) for state in states] + [entry.path for entry in here if entry.path]
        view.show(Section.WRITING, await run(_listed, paths, self._folder))
        for first in range(0, len(here), _BATCH):
            here[first : first + _BATCH] = await run(_described, here[first : first + _BATCH])
            view.show(Section.HERE, here)

    @work(exclusive=True, group="writers", exit_on_error=False)
    async def _follow_writers(self) -> None:
        """Show how many variants the captures have that are being written."""
        view = self.query_one(HomeView)
        paths = [entry.path for entry in view.entries(Section.WRITING) if entry.path]
        if paths and self.is_current:
            view.show(Section.WRITING, await self._background.run(_listed, paths, self._folder))

    def _place_cursor(self) -> None:
        if self._start is not None:
            view = self.query_one(HomeView)
            start, self._start = self._start, None
            preferred = (start, Section.RECENT, Section.HERE, Section.LESSONS)
            view.go_to_section(next((section for section in preferred if view.entries(section)), start))
            view.go_to_section(start, self._entry)

    def filter_lines(self, query: str) -> None:
        """Show only entries that match."""
        self.query_one(HomeView).filter(query)
        self._describe()

    @on(LineView.CursorMoved)
    def _describe(self) -> None:
        """Show the path of the entry under the cursor, or what is wrong."""
        entry = self.query_one(HomeView).current
        text = f"{entry.detail}: there is no such file any more" if entry and entry.missing else ""
        text = text or (entry.detail if entry else "")
        style = "problem" if self._problem or (entry and entry.missing) else "title--note"
        self.query_one("#home-note", HomeBar).set_labels([Label(f" {self._problem or text} ", style)])
        self._problem = ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """At the bottom there is nothing to go back to, unless there is a filter."""
        if action == "close":
            return not self._bottom or bool(self.search_bar.value)
        return action != "explain" and super().check_action(action, parameters)


_FIXED: dict[Section, Callable[[], list[HomeEntry]]] = {
    Section.LESSONS: lesson_entries,
    Section.SAMPLES: sample_entries,
    Section.MANUAL: manual_entries,
}


def _listed(paths: Sequence[Path], folder: Path) -> list[HomeEntry]:
    return list(writing_entries(paths, folder))


def _described(entries: Sequence[HomeEntry]) -> list[HomeEntry]:
    return list(map(described, entries))
