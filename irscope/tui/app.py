"""The Textual app: theme, palette, mouse and clipboard. What it shows is in the screens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on
from textual.app import App, SystemCommand
from textual.screen import Screen

from irscope.model import UserError
from irscope.tui import keys
from irscope.tui.background import Background
from irscope.tui.live import Live, Producer
from irscope.tui.live_updates import apply_events
from irscope.tui.palette import commands, commands_of
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.opening import OpeningScreen
from irscope.tui.settings import Settings, config_path, load
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.learn.lesson import Lesson
    from irscope.tui.lesson import LessonPages

# Blue and orange can be told apart with any kind of colour vision, on dark and on light.
_COLOURS = {"diff-left": "#d97706", "diff-right": "#2f81f7"}
# The series of a chart: each reads well on dark and on light, and has a mark of its own beside.
_SERIES = ("#2f81f7", "#d97706", "#0d9488", "#c026d3", "#848a00", "#dc2626", "#7c6af0", "#7d8590")
# Mouse reporting: clicks, movement, and positions as SGR numbers (xterm's private modes).
_MOUSE_MODES = (1000, 1003, 1015, 1006)


class IrscopeApp(App[None]):
    """Shows one capture. Raises UserError where it has no variant and nobody compiles some.

    `problem` is what is wrong with the
    config file, to be told. `producer` compiles variants into the capture; `lesson` is told beside it.
    """

    TITLE = "irscope"
    CSS_PATH = "irscope.tcss"

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings | None = None,
        problem: str = "",
        producer: Producer | None = None,
        lesson: Lesson | None = None,
    ) -> None:
        super().__init__()
        self._settings = settings or Settings()
        self._problem = problem
        # Scrolling that is animated sends 20 times the bytes, and people work over SSH.
        self.animation_level = "none"
        if not workspace.variants and producer is None:
            raise UserError(f"{workspace.path}: no variant in it yet; compile some with `irscope compile`")
        self._workspace = workspace
        self._producer = producer
        self._lesson = lesson
        self._background = Background()
        self._mouse = True

    def get_default_screen(self) -> Screen[None]:
        """The main screen; where somebody compiles, the one that waits for the first plan."""
        if self._producer is not None:
            return OpeningScreen(Live(self._producer))
        return CompareScreen(self._workspace, self._background, self._settings, pages=self._pages())

    def _pages(self) -> LessonPages | None:
        if self._lesson is None:
            return None
        from irscope.tui.lesson import LessonPages  # what lessons need is off the path of everything else

        return LessonPages(self._lesson, self._workspace)

    @on(OpeningScreen.Ready)
    def _open(self, message: OpeningScreen.Ready) -> None:
        """There are variants, or soon will be."""
        for words in apply_events(self._workspace, [message.event]).said:
            self.notify(words, markup=False)
        main = CompareScreen(self._workspace, self._background, self._settings, message.live)
        self.push_screen(main)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colours of A, B and the series of a chart, for themes that have none of their own."""
        return _COLOURS | {f"series-{number}": colour for number, colour in enumerate(_SERIES)}

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Textual's own (theme, quit) and every action of the main screen."""
        for command in super().get_system_commands(screen):
            if command.title not in ("Keys", "Maximize", "Minimize", "Screenshot"):
                yield command
        if isinstance(screen, CompareScreen):
            yield from commands(screen, self._settings.keys)
        else:
            yield from commands_of(screen, self._settings.keys)

    def action_toggle_mouse(self) -> None:
        """Lets go of the mouse, so that the terminal can select text, or takes it back."""
        self._mouse = not self._mouse
        if self._driver is not None:
            self._driver.write("".join(f"\x1b[?{mode}{'h' if self._mouse else 'l'}" for mode in _MOUSE_MODES))
            self._driver.flush()
        self.notify("irscope has the mouse" if self._mouse else "The terminal has the mouse; m takes it back")

    def on_mount(self) -> None:
        """Takes the theme and the keys of the config file; tells what of them does not exist."""
        theme, keymap = self._settings.theme, self._settings.keys
        problems = [self._problem] if self._problem else []
        if theme in self.available_themes:
            self.theme = theme
        elif theme:
            problems.append(f"no theme '{theme}'; there are {', '.join(self.available_themes)}")
        known = {binding.id for _, bindings in keys.SECTIONS for binding in bindings}
        problems += [f"no action '{action}' to give a key" for action in keymap if action not in known]
        problems += keys.conflicts(keymap)
        self.set_keymap({action: key for action, key in keymap.items() if action in known})
        for problem in problems:
            self.notify(problem, title="Config file", severity="warning", markup=False)

    def on_unmount(self) -> None:
        """Lets the background thread end."""
        self._background.close()


def run(
    workspace: Workspace,
    producer: Producer | None = None,
    lesson: Lesson | None = None,
) -> int:
    """Runs the app until the user quits; the exit code.

    `producer` compiles variants into the capture meanwhile; `lesson` is shown next to it. Raises UserError
    if the capture is empty and nothing compiles into it.
    """
    settings, problem = Settings(), ""
    try:
        settings = load(config_path())
    except UserError as error:
        problem = f"{error}; it is ignored"
    app = IrscopeApp(workspace, settings, problem, producer, lesson)
    app.run()
    return app.return_code or 0
