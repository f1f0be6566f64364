"""The Textual app: theme, palette, mouse and clipboard. The screens show the capture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ScreenStackError
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.css.query import NoMatches
from textual.driver import Driver
from textual.filter import LineFilter, NoColor
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import WorkerFailed

from irscope.model import UserError
from irscope.tui import key_help, keys
from irscope.tui.bindings import ASK
from irscope.tui.colors import theme_colors
from irscope.tui.home_visits import AppExit, HomeVisits, Start
from irscope.tui.live_connection import LiveConnection, Producer, VariantCompiler
from irscope.tui.palette import PaletteEntry
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import OVERLAYS_CSS
from irscope.tui.screens.waiting import WaitingScreen
from irscope.tui.settings import Settings, config_path, load
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.learn.render import LessonPages
    from irscope.tui.screens.opening import OpeningScreen


class IrscopeApp(HomeVisits):
    """Shows a capture; without one, the home screen. Raises UserError if it is empty and nobody compiles it.

    `problem` is an error in the config file, to be shown. `producer` compiles variants into the capture;
    `lesson` is shown next to the texts; `compiler` compiles single variants with other values. `start` says
    how the app starts.
    """

    TITLE = "irscope"
    CSS_PATH = "irscope.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*keys.EVERYWHERE]

    def __init__(
        self,
        workspace: Workspace | None,
        settings: Settings | None = None,
        problem: str = "",
        producer: Producer | None = None,
        lesson: LessonPages | None = None,
        start: Start | None = None,
        compiler: VariantCompiler | None = None,
    ) -> None:
        self._start = start or Start()
        super().__init__(settings or Settings(), self._start.states)
        self._problem = problem
        # Animated scrolling sends 20 times as many bytes, and people work over SSH.
        self.animation_level = "none"
        if workspace is not None and producer is None and workspace.abandoned:
            raise UserError(f"{workspace.path} has no variants yet; `irscope compile` adds some")
        self._workspace = workspace
        self._producer = producer
        self._lesson = lesson
        self._compiler = compiler

    def get_default_screen(self) -> Screen[None]:
        """Return the main screen, the one that waits for the plan of a compilation, or the home screen."""
        if self._workspace is not None and self._producer is None and self._workspace.variants:
            return self._main_screen(self._workspace)
        self.stylesheet.read(OVERLAYS_CSS)  # Textual reads it for a screen over another one only
        if self._workspace is None:
            return self.home_screen(self._start, bottom=True)
        if self._producer is not None:
            from irscope.tui.screens.opening import OpeningScreen  # captures open without it

            return OpeningScreen(LiveConnection(self._producer))
        return WaitingScreen(self._workspace, self._background)

    @on(WaitingScreen.Ready)
    def _show_first_variant(self, message: WaitingScreen.Ready) -> None:
        if message.workspace is self._workspace:
            self.push_screen(self._main_screen(message.workspace))
        elif isinstance(self.screen, WaitingScreen):
            self.switch_screen(self.visited(message.workspace))

    def _main_screen(self, workspace: Workspace, live: LiveConnection | None = None) -> CompareScreen:
        """Return the main screen; it is restored unless it is about a lesson or a compilation."""
        restored = self._settings.restore and self._lesson is None and live is None
        return CompareScreen(
            workspace,
            self._background,
            self._settings,
            live,
            self._lesson,
            self._states if restored else None,
            self._start.fresh,
            self.return_home if self._start.from_home else None,
            self._compiler,
        )

    def on_opening_screen_ready(self, message: OpeningScreen.Ready) -> None:
        """Show the main screen once the plan of a compilation is known."""
        from irscope.workspace.live import apply_events  # captures open without it

        if self._workspace is not None:
            for note in apply_events(self._workspace, [message.event]).notes:
                self.notify(note, markup=False)
            self.push_screen(self._main_screen(self._workspace, message.live))

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's colors, those of A and B, and tints and inks that are legible."""
        self.theme_variables = super().get_css_variables() | theme_colors(self.current_theme)
        return self.theme_variables

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return a filter without any color if the user wants none: Textual's keeps shades of gray."""
        return [NoColor()] if self.no_color else super().get_line_filters()

    def palette_entries(self, screen: Screen[object]) -> list[PaletteEntry]:
        """Return every action of the screen, and the choice of a theme."""
        theme = PaletteEntry("Choose a theme", "", "Colors", self.search_themes)
        return [*key_help.palette_entries(screen, self._settings.keys), theme]

    def on_key(self, event: events.Key) -> None:
        """Says in one line why a key that nothing has handled does nothing here."""
        if not isinstance(self.focused, Input) and not isinstance(self.screen, CommandPalette):
            line = key_help.advice(self, event.key, event.character, self._settings.keys)
            if line:
                self.notify(line, timeout=2, markup=False)

    def action_help(self) -> None:
        """Show the help, with the keys of the focused panel first."""
        from irscope.tui.screens.help import HelpScreen  # most runs do not show it

        key_text = partial(key_help.shown, self, keymap=self._settings.keys)
        self.push_screen(HelpScreen(key_help.help_groups(self.screen), key_text))

    def action_ask_to_quit(self) -> None:
        """Quits; if a capture is open, after a question, which the config file can forbid."""
        has_main_screen = any(isinstance(screen, CompareScreen) for screen in self.screen_stack)
        if not (has_main_screen and self._settings.confirm_quit):
            self.exit()
            return

        from irscope.tui.screens.dialogs import ConfirmScreen  # after the first paint

        def answered(answer: str | None) -> None:
            if answer:
                self.exit()

        self.push_screen(ConfirmScreen(["Quit irscope?"], ASK.bindings, self.input.deliver_next), answered)

    def action_help_quit(self) -> None:
        """Quits at once: Ctrl+C, unless a text is selected."""
        self.exit()

    @on(Driver.SignalResume)
    def _repaint(self) -> None:
        """Draws everything again after Ctrl+Z and fg: the terminal has lost the screen."""
        self.refresh(layout=True)

    def on_mount(self) -> None:
        """Apply the config file's theme and keys; shows its errors."""
        theme, keymap = self._settings.theme, self._settings.keys
        if self._has_few_colors():
            self.add_class("-few-colors")
            self.theme = "ansi-dark"
        if not theme and self._states is not None:
            self.choose_theme(self._states.theme())
        problems = [self._problem] if self._problem else []
        if theme in self.available_themes:
            self.theme = theme
        elif theme:
            problems.append(f"no theme '{theme}'; known: {', '.join(self.available_themes)}")
        action_ids = (
            {binding.id for group in key_help.sections() for binding in group.bindings} if keymap else set()
        )
        problems += [f"keys: no action '{action}'" for action in keymap if action not in action_ids]
        problems += key_help.conflicts(keymap)
        self.set_keymap({action: pressed for action, pressed in keymap.items() if action in action_ids})
        for problem in problems:
            self.notify(problem, title="Config file", severity="warning", markup=False)

    def _has_few_colors(self) -> bool:
        """Return True if tints look the same.

        The terminal has at most 16 colors, or the user wants none.
        """
        # Without a terminal, as in tests and pictures, nothing limits the colors.
        limited = self.console.color_system in (None, "standard", "windows")
        return self.no_color or (limited and not self.is_headless and not self.is_web)

    def _handle_exception(self, error: Exception) -> None:
        """End the app. If it ends already, a key finds no screen, or one without widgets: no error."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        if not isinstance(cause, NoMatches | ScreenStackError) or (self.is_running and not self._exit):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """End the app; `run` raises the error again, instead of pages of local variables."""
        self._close_messages_no_wait()

    def on_unmount(self) -> None:
        """End the background thread."""
        self._background.close()
        self.close_opened()


def run(
    workspace: Workspace | None,
    producer: Producer | None = None,
    lesson: LessonPages | None = None,
    start: Start | None = None,
    compiler: VariantCompiler | None = None,
) -> AppExit:
    """Run the app until the user quits, or picks what the caller must open.

    `producer` compiles variants into the capture meanwhile; `lesson` is shown next to it; `compiler` compiles
    single variants with other values. Raises UserError if the capture is empty and nothing compiles into it.
    """
    settings, problem = Settings(), ""
    try:
        settings = load(config_path())
    except UserError as error:
        problem = f"{error}; the file is ignored"
    app = IrscopeApp(workspace, settings, problem, producer, lesson, start, compiler)
    app.run()
    if app._exception is not None:
        raise app._exception
    return AppExit(app.return_code or 0, app.choice, app.wants_home)
