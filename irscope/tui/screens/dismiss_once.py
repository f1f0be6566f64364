"""The base of all screens that open over another one: they close once, whatever is pressed after that."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.screen import Screen, ScreenResultType


class DismissOnce(Screen[ScreenResultType]):
    """A screen that ignores a second answer.

    A message that the panel of a screen has posted can arrive after the screen is closed, as that of a double
    click does. Textual would then close the screen below, or fail because the answer is already given.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Closes the screen with its result; does nothing if it is closed, or under another one."""
        is_last = self.is_active and len(self.app.screen_stack) > 1
        return super().dismiss(result) if is_last else AwaitComplete()
