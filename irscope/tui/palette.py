"""Shows each theme while the user moves through the list of themes in the palette.

Textual's command palette, in which no key fails before its commands are drawn or after it is closed.
"""

from __future__ import annotations

from contextlib import suppress

from textual import events, on
from textual.command import Command, CommandPalette
from textual.theme import ThemeProvider
from textual.widgets import Button, Input, OptionList

from irscope.tui.input_queue import InputApp
from irscope.tui.screens.dialogs import DismissOnce


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


class ThemePreview(InputApp):
    """An app whose list of themes shows the one under the cursor; Escape brings the old one back."""

    _theme_before = ""
    # The theme that the user picked from the list; "" if it is the config file's.
    chosen_theme = ""

    def choose_theme(self, name: str) -> None:
        """Use a theme that the user picked, also in an earlier run; ignores unknown ones."""
        if name in self.available_themes:
            self.theme = self.chosen_theme = name

    def search_themes(self) -> None:
        """Open the list of themes."""
        self._theme_before = self.theme
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    def action_command_palette(self) -> None:
        """Open the palette."""
        if self.use_command_palette and not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    @on(CommandPalette.OptionHighlighted)
    def _preview(self, message: CommandPalette.OptionHighlighted) -> None:
        option = message.highlighted_event.option
        if self._theme_before and isinstance(option, Command) and option.hit.text in self.available_themes:
            self.theme = str(option.hit.text)

    @on(CommandPalette.Closed)
    def _end_preview(self, message: CommandPalette.Closed) -> None:
        before, self._theme_before = self._theme_before, ""
        if before and message.option_selected:
            self.chosen_theme = self.theme
        elif before:
            self.theme = before
