"""Textual's command palette, in which no key fails before its commands are drawn or after it is closed."""

from __future__ import annotations

from contextlib import suppress

from textual import on
from textual.command import CommandPalette
from textual.widgets import Button, Input, OptionList


class Palette(CommandPalette):
    """A list of commands; Page Up and Page Down do nothing while it has no lines.

    In Textual 8.2 they raise KeyError then, which ends the app: if nothing matches, if the next key comes
    before the list is laid out, or if the terminal is too small for it. A second Enter, handled after the
    first has closed the palette, would close the screen below and run the command again.
    """

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)

    @on(Input.Submitted)
    @on(Button.Pressed)
    @on(OptionList.OptionSelected)
    def _ignore_if_closed(self, event: Input.Submitted | Button.Pressed | OptionList.OptionSelected) -> None:
        if not self.is_active:
            event.stop()
            event.prevent_default()

    def _action_escape(self) -> None:
        if self.is_active:
            super()._action_escape()
