"""Textual's command palette, in which no key fails before its commands are drawn or after it is closed."""

from __future__ import annotations

from contextlib import suppress

from textual import events, on
from textual.command import CommandPalette
from textual.widgets import Button, Input, OptionList

from irscope.tui.screens.dismiss_once import DismissOnce


class Palette(CommandPalette, DismissOnce[None]):
    """A list of commands; Page Up and Page Down do nothing while it has no lines.

    In Textual 8.2 they raise KeyError then, which ends the app: if nothing matches, if the next key comes
    before the list is laid out, or if the terminal is too small for it. What is handled after the palette is
    closed would end the app too, because its list is gone: a second Enter, a letter that was typed, a click.
    """

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)

    @on(Input.Changed)
    @on(Input.Submitted)
    @on(Button.Pressed)
    @on(OptionList.OptionSelected)
    def _ignore_if_closed(
        self, event: Input.Changed | Input.Submitted | Button.Pressed | OptionList.OptionSelected
    ) -> None:
        if not self.is_active:
            event.stop()
            event.prevent_default()

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]
        # A click can be outside of a screen that became smaller meanwhile.
        if not self.is_active or not self.region.contains(event.screen_x, event.screen_y):
            event.prevent_default()

    def _action_cursor_down(self) -> None:
        if self.is_active:
            super()._action_cursor_down()

    def _action_escape(self) -> None:
        if self.is_active:
            super()._action_escape()
