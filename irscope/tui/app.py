"""The Textual app: theme, palette, mouse and clipboard. The screens show the capture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on
from textual.app import App, SystemCommand
from textual.screen import Screen

from irscope.model import UserError
from irscope.tui import keys
from irscope.tui.background import Background
from irscope.tui.live_connection import LiveConnection, Producer
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.opening import OpeningScreen
from irscope.tui.settings import Settings, config_path, load
from irscope.workspace import Workspace, apply_events

if TYPE_CHECKING:
    from irscope.learn.pages import LessonPages

# Blue and orange differ in any kind of color vision, on dark and on light backgrounds.
_COLORS = {"diff-left": "#d97706", "diff-right": "#2f81f7"}
# The series of a chart: legible on dark and light backgrounds; their marks differ too.
_SERIES = ("#2f81f7", "#d97706", "#0d9488", "#c026d3", "#848a00", "#dc2626", "#7c6af0", "#7d8590")
# Mouse reporting: clicks, movement, and positions as SGR numbers (xterm's private modes).
_MOUSE_MODES = (1000, 1003, 1015, 1006)
# Textual's commands that irscope replaces.
_REPLACED = ("Keys", "Maximize", "Minimize", "Screenshot")


class IrscopeApp(App[None]):
    """Shows a capture. Raises UserError if it is empty and nothing compiles into it.

    `problem` is an error in the config file, to be shown. `producer` compiles variants into the capture;
    `lesson` is shown next to the texts.
    """

    TITLE = "irscope"
    CSS_PATH = "irscope.tcss"

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings | None = None,
        problem: str = "",
        producer: Producer | None = None,
        lesson: LessonPages | None = None,
    ) -> None:
        super().__init__()
        self._settings = settings or Settings()
        self._problem = problem
        # Animated scrolling sends 20 times as many bytes, and people work over SSH.
        self.animation_level = "none"
        if not workspace.variants and producer is None:
            raise UserError(f"{workspace.path} has no variants yet; `irscope compile` adds some")
        self._workspace = workspace
        self._producer = producer
        self._lesson = lesson
        self._background = Background()
        self._mouse = True

    def get_default_screen(self) -> Screen[None]:
        """The main screen; if variants are compiled, the one that waits for the plan."""
        if self._producer is not None:
            return OpeningScreen(LiveConnection(self._producer))
        return CompareScreen(self._workspace, self._background, self._settings, pages=self._lesson)

    @on(OpeningScreen.Ready)
    def _open_main_screen(self, message: OpeningScreen.Ready) -> None:
        for note in apply_events(self._workspace, [message.event]).notes:
            self.notify(note, markup=False)
        self.push_screen(CompareScreen(self._workspace, self._background, self._settings, message.live))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colors of A, B and the series of a chart, for themes that do not define them."""
        return _COLORS | {f"series-{number}": color for number, color in enumerate(_SERIES)}

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The commands of the palette: Textual's own (theme, quit) and every action of the screen."""
        for command in super().get_system_commands(screen):
            if command.title not in _REPLACED:
                yield command
        yield from keys.commands(screen, self._settings.keys)

    def action_toggle_mouse(self) -> None:
        """Toggles mouse capture; without it, the terminal selects text."""
        self._mouse = not self._mouse
        if self._driver is not None:
            self._driver.write("".join(f"\x1b[?{mode}{'h' if self._mouse else 'l'}" for mode in _MOUSE_MODES))
            self._driver.flush()
        off = "Mouse capture off: the terminal selects text; m turns it on"
        self.notify("Mouse capture on" if self._mouse else off)

    def on_mount(self) -> None:
        """Applies the config file's theme and keys; shows its errors."""
        self.set_class(self._has_few_colors(), "-few-colors")
        theme, keymap = self._settings.theme, self._settings.keys
        problems = [self._problem] if self._problem else []
        if theme in self.available_themes:
            self.theme = theme
        elif theme:
            problems.append(f"no theme '{theme}'; known: {', '.join(self.available_themes)}")
        known = {binding.id for group in keys.SECTIONS for binding in group.bindings}
        problems += [f"keys: no action '{action}'" for action in keymap if action not in known]
        problems += keys.conflicts(keymap)
        self.set_keymap({action: pressed for action, pressed in keymap.items() if action in known})
        for problem in problems:
            self.notify(problem, title="Config file", severity="warning", markup=False)

    def _has_few_colors(self) -> bool:
        """Whether tints cannot be told apart: the terminal has at most 16 colors, or the user wants none."""
        # Without a terminal, as in tests and pictures, nothing limits the colors.
        limited = self.console.color_system in (None, "standard", "windows")
        return self.no_color or (limited and not self.is_headless and not self.is_web)

    def _fatal_error(self) -> None:
        """Ends the app; `run` raises the error again, instead of pages of local variables."""
        self._close_messages_no_wait()

    def on_unmount(self) -> None:
        """Ends the background thread."""
        self._background.close()


def run(workspace: Workspace, producer: Producer | None = None, lesson: LessonPages | None = None) -> int:
    """Runs the app until the user quits; returns the exit code.

    `producer` compiles variants into the capture meanwhile; `lesson` is shown next to it. Raises UserError
    if the capture is empty and nothing compiles into it.
    """
    settings, problem = Settings(), ""
    try:
        settings = load(config_path())
    except UserError as error:
        problem = f"{error}; the file is ignored"
    app = IrscopeApp(workspace, settings, problem, producer, lesson)
    app.run()
    if app._exception is not None:
        raise app._exception
    return app.return_code or 0
