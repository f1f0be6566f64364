"""The home screen: recent captures, running sweeps, captures here, lessons, samples, the manual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType

from irscope.tui.background import Background
from irscope.tui.bindings import FILTER_KEYS, LEAVE, KeyGroup
from irscope.tui.home_entries import (
    described,
    folder_entries,
    lesson_entries,
    manual_entries,
    recent_entries,
    sample_entries,
    writing_entries,
)
from irscope.tui.home_sections import HomeEntry, Section
from irscope.tui.screens.reading import FilteringScreen
from irscope.tui.state_file import CaptureState, StateFolder
from irscope.tui.widgets.bars import Bar, KeyHints, Label
from irscope.tui.widgets.home_view import HomeView
from irscope.tui.widgets.line_view import LineView

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
        """The title, the list, the line about the entry under the cursor, the filter, the keys."""
        yield HomeBar(id="home-title")
        yield HomeView()
        yield HomeBar(id="home-note")
        yield self.search_bar
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Reads the lists after the first paint."""
        title = [Label(" irscope ", "title--app"), Label(f" {self._folder}", "title--note")]
        self.query_one("#home-title", HomeBar).set_labels(title)
        self.query_one(HomeView).focus()
        self._describe()
        self.call_after_refresh(self.action_refresh_lists)
        self.set_interval(_WRITING_SECONDS, self._follow_writers)

    def on_unmount(self) -> None:
        """Ends the thread that reads the lists."""
        self._lister.close()

    def on_screen_resume(self) -> None:
        """Lists what was opened meanwhile."""
        if self._start is None:
            self.action_refresh_lists()

    def action_refresh_lists(self) -> None:
        """Looks for captures again."""
        self._read()

    @work(exclusive=True, group="home", exit_on_error=False)
    async def _read(self) -> None:
        """Fills the sections; reads each capture in the folder for a moment."""
        view, run = self.query_one(HomeView), self._lister.run
        states = await run(self._states.recent)
        view.show(Section.RECENT, await run(recent_entries, states, self._folder))
        if self._start is Section.RECENT and states:
            self._place_cursor()
        for section, entries in _FIXED.items():  # before the folder, which may be a slow one
            view.show(section, await run(entries))
        here = await run(folder_entries, self._folder)
        view.show(Section.HERE, here)
        self._place_cursor()
        await self._open_captures(states, here)
        self._describe()

    async def _open_captures(self, states: Sequence[CaptureState], here: list[HomeEntry]) -> None:
        """Adds the captures that are being written, and what is in those of the folder."""
        view, run = self.query_one(HomeView), self._background.run
        paths = [Path(state.path) for state in states] + [entry.path for entry in here if entry.path]
        view.show(Section.WRITING, await run(_listed, paths, self._folder))
        for first in range(0, len(here), _BATCH):
            here[first : first + _BATCH] = await run(_described, here[first : first + _BATCH])
            view.show(Section.HERE, here)

    @work(exclusive=True, group="writers", exit_on_error=False)
    async def _follow_writers(self) -> None:
        """Shows how many variants the captures have that are being written."""
        view = self.query_one(HomeView)
        paths = [entry.path for entry in view.entries(Section.WRITING) if entry.path]
        if paths and self.is_current:
            view.show(Section.WRITING, await self._background.run(_listed, paths, self._folder))

    def _place_cursor(self) -> None:
        if self._start is not None:
            view = self.query_one(HomeView)
            start, self._start = self._start, None
            wanted = (start, Section.RECENT, Section.HERE, Section.LESSONS)
            view.go_to_section(next((section for section in wanted if view.entries(section)), start))
            view.go_to_section(start, self._entry)

    def filter_lines(self, query: str) -> None:
        """Shows only entries that match."""
        self.query_one(HomeView).filter(query)
        self._describe()

    @on(LineView.CursorMoved)
    def _describe(self) -> None:
        """Shows the path of the entry under the cursor, or what is wrong."""
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
