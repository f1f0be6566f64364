"""The base of all screens that open over another one: they close once, whatever is pressed after that.

A question in the last lines of the screen, answered with one key.

A dialog that asks for a line of text: a path, a line number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.actions import parse
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import Input, Label

from irscope.model.text import display_line
from irscope.tui.bindings import Action, KeyGroup
from irscope.tui.input_queue import InputApp, hold_input
from irscope.tui.widgets.bars import KeyHints

if TYPE_CHECKING:
    from irscope.tui.widgets.line_view import LineView

# What users of vim type after `:` to quit.
_QUIT = ("q", "q!", "qa", "quit")
# The style sheet of every screen but the main one.
OVERLAYS_CSS = Path(__file__).with_name("overlays.tcss")


class ActionScreen(Screen[ScreenResultType]):
    """A screen whose bindings are declared actions: see `bindings.Action`."""

    CSS_PATH: ClassVar[Path | None] = OVERLAYS_CSS
    # The groups of keys of the screen itself, and its panels, some with keys of their own.
    KEYS: ClassVar[Sequence[KeyGroup]] = ()
    PANELS: ClassVar[Sequence[type[LineView]]] = ()
    _actions: ClassVar[Mapping[tuple[str, tuple[object, ...]], Action]] = {}
    _is_styled = False

    def __init_subclass__(cls, **options: bool) -> None:
        super().__init_subclass__(**options)
        actions = {parse(action.action)[1:]: action for action in cls.BINDINGS if isinstance(action, Action)}
        cls._actions = {**cls._actions, **actions}

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Keep Textual from applying all styles again that mounting has just applied."""
        event.refresh_styles = event.refresh_styles and self._is_styled
        self._is_styled = True

    def on_idle(self, event: events.Idle) -> None:
        """Draw once per key, when every panel shows what it changes: a panel can follow another."""
        if isinstance(self.app, InputApp) and self.app.input.is_settling:
            event.prevent_default()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hides keys without a meaning here; disables those of actions that cannot act now."""
        declared = self._actions.get((action, parameters))
        if declared is not None and not declared.applies(self):
            return False
        return None if self.unavailable(action, parameters) else super().check_action(action, parameters)

    def unavailable(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why an action cannot act now, in one line, or "" if it can."""
        declared = self._actions.get((action, parameters))
        return "" if declared is None else declared.problem(self)

    async def ask(self, question: str, answer: str = "") -> str | None:
        """Ask for a line of text, with a default; return None if the user cancels.

        Keys that are typed before the prompt is open are for the prompt.
        """
        with hold_input(self.app):
            return await self.app.push_screen_wait(PromptScreen(question, answer))

    @property
    def numbered(self) -> str:
        """Return what the prompt for a number asks for."""
        return "number"

    def go_to_number(self, text: str) -> bool:
        """Go to the line, or the like, that users know by a number; return False if there is none."""
        return False

    @work(exclusive=True, group="go_to_line", exit_on_error=False)
    async def action_go_to_line(self) -> None:
        """Ask for a number and go there; what quits vim goes back, or quits."""
        numbered = self.numbered
        answer = await self.ask(f"Go to {numbered}:")
        if answer in _QUIT:
            if not await self.app.run_action("close", self):
                await self.app.run_action("ask_to_quit")
        elif answer and not self.go_to_number(answer):
            message = f"No {numbered.partition(' ')[0]} {answer} here"
            self.notify(message, severity="warning", markup=False)


class DismissOnce(ActionScreen[ScreenResultType]):
    """A screen that ignores a second answer.

    A message that the panel of a screen has posted can arrive after the screen is closed, as that of a double
    click does. Textual would then close the screen below, or fail because the answer is already given.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close the screen with its result; does nothing if it is closed, or under another one."""
        is_last = self.is_active and len(self.app.screen_stack) > 1
        return super().dismiss(result) if is_last else AwaitComplete()


class ConfirmScreen(ModalScreen[str], DismissOnce[str]):
    """Shows lines and returns the answer of the key that is pressed.

    `answers` are bindings of the action `answer`, whose parameter is the answer. Other keys are ignored; with
    `other`, they close the question, answer "" and are passed to `other`.
    """

    def __init__(
        self,
        lines: Sequence[str],
        answers: Sequence[Binding],
        other: Callable[[events.Key], None] | None = None,
    ) -> None:
        super().__init__()
        self._lines = lines
        self._other = other
        for binding in Binding.make_bindings(answers):
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        """Yield the lines and the keys, at the bottom of the app."""
        with Vertical():
            for line in self._lines:
                yield Label(display_line(line), markup=False)
            yield KeyHints(id="keys")

    def on_key(self, event: events.Key) -> None:
        """Close the question if the key is none of its answers, and lets the key act below it."""
        if self._other is not None and self.is_active and event.key not in self.active_bindings:
            event.stop()
            self.dismiss("")
            self._other(events.Key(event.key, event.character))

    def action_answer(self, answer: str) -> None:
        """Close the question."""
        self.dismiss(answer)


class PromptScreen(ModalScreen[str | None], DismissOnce[str | None]):
    """Asks for a line, with a default; returns it, or None if the user cancels.

    The default is selected: typing replaces it, a key that moves the cursor keeps it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "answer"),  # the field has the key first
        Binding("escape", "cancel", "cancel"),
    ]

    def __init__(self, question: str, answer: str = "") -> None:
        super().__init__()
        self._question = question
        self._answer = answer

    def compose(self) -> ComposeResult:
        """Yield the question and the input, at the bottom of the app."""
        with Vertical():
            yield Label(self._question, markup=False)
            yield Input(self._answer, compact=True)
            yield KeyHints(id="keys")

    @on(Input.Submitted)
    def _answered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value.strip() or None)

    def action_cancel(self) -> None:
        """Close the dialog without an answer."""
        self.dismiss(None)
