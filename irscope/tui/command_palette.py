"""Textual's command palette, in which no key fails before the commands are drawn."""

from __future__ import annotations

from contextlib import suppress

from textual.command import CommandPalette


class Palette(CommandPalette):
    """A list of commands; Page Up and Page Down do nothing while it has no lines.

    In Textual 8.2 they raise KeyError then, which ends the app: if nothing matches, if the next key comes
    before the list is laid out, or if the terminal is too small for it.
    """

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)
