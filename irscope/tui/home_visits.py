"""An app with a home screen, which opens captures over it, and leaves the rest to its caller."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on

from irscope.model import UserError
from irscope.model.records import frozen
from irscope.tui.background import Background
from irscope.tui.home_entries import EntryOpened, HomeEntry, Section
from irscope.tui.palette import ThemePreview
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.waiting import WaitingScreen
from irscope.tui.settings import Settings, StateFolder
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.tui.screens.home import HomeScreen


@frozen
class AppExit:
    """How the app ended: the exit code, and the lesson or sample to open, which must be compiled first.

    `home`: the user wants to be at the home screen next.
    """

    code: int
    choice: HomeEntry | None = None
    home: bool = False


@frozen
class Start:
    """How the app starts.

    `states` has how captures were left; without it the app remembers nothing and has no home screen.
    `fresh`: the capture opens as if for the first time. Without a capture, the home screen opens with the
    cursor in `section`, at `entry` if there is one, and shows `message`. `from_home`: the user came from the
    home screen, and q ends the app with `Ended.home`.
    """

    states: StateFolder | None = None
    fresh: bool = False
    section: Section = Section.RECENT
    entry: str = ""
    message: str = ""
    from_home: bool = False


class HomeVisits(ThemePreview):
    """Opens the home screen and what the user picks there. Does nothing without a `_states` folder."""

    def __init__(self, settings: Settings, states: StateFolder | None) -> None:
        super().__init__()
        self._settings = settings
        self._states = states
        self._background = Background()
        self._opened: list[Workspace] = []
        # The entry that the caller of the app opens next.
        self.choice: HomeEntry | None = None
        self.wants_home = False

    def home_screen(self, start: Start, bottom: bool) -> HomeScreen:
        """Create a home screen; `bottom`: there is no screen to go back to."""
        from irscope.tui.screens.home import HomeScreen  # most runs do not show it

        states = self._states or StateFolder()
        return HomeScreen(self._background, states, start.section, bottom, start.message, start.entry)

    def unavailable(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why an action cannot act, or "" if it can.

        A visitor of `irscope serve` does not see the captures of its owner.
        """
        return "The home screen is off in a browser" if action == "home" and self.is_web else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables the home screen in a browser; without a folder of states there is none."""
        if self.unavailable(action, parameters):
            return None
        if action == "home":
            return self._states is not None
        return super().check_action(action, parameters)

    def action_home(self) -> None:
        """Open the home screen, or return to it if this capture was opened from it."""
        screen = self.screen
        if isinstance(screen, CompareScreen) and screen.came_from_home:
            screen.return_home()
        else:
            self.push_screen(self.home_screen(Start(), bottom=False))

    @on(EntryOpened)
    def _open(self, message: EntryOpened) -> None:
        entry = message.entry
        if entry.missing:
            self.notify(f"{entry.detail} does not exist any more", severity="warning", markup=False)
        elif entry.capture and entry.path is not None:
            self._open_capture(entry.path)
        else:
            self.choice = entry
            self.exit()

    def _open_capture(self, path: Path) -> None:
        """Open a capture over the home screen."""
        try:
            workspace = Workspace(path)
            if workspace.abandoned:
                workspace.close()
                raise UserError(f"{path} has no variants yet; `irscope compile` adds some")
        except UserError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        self._opened.append(workspace)
        if workspace.variants:
            self.push_screen(self.visited(workspace))
        else:
            self.push_screen(WaitingScreen(workspace, self._background, partial(self._leave, workspace)))

    def visited(self, workspace: Workspace) -> CompareScreen:
        """Create the main screen of a capture that was opened from the home screen."""
        states = self._states if self._settings.restore else None
        leave = partial(self._leave, workspace)
        return CompareScreen(workspace, self._background, self._settings, states=states, go_home=leave)

    def _leave(self, workspace: Workspace) -> None:
        """Return to the home screen and close the capture."""
        self.pop_screen()
        self._opened.remove(workspace)
        self._background.later(workspace.close)

    def return_home(self) -> None:
        """End the app; its caller shows the home screen."""
        self.wants_home = True
        self.exit()

    def close_opened(self) -> None:
        """Close the captures that were opened from the home screen."""
        for workspace in self._opened:
            workspace.close()
