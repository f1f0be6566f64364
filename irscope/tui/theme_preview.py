"""Shows each theme while the user moves through the list of themes in the palette."""

from __future__ import annotations

from textual import on
from textual.command import Command, CommandPalette
from textual.theme import ThemeProvider

from irscope.tui.command_palette import Palette
from irscope.tui.input_queue import InputApp


class ThemePreview(InputApp):
    """An app whose list of themes shows the one under the cursor; Escape brings the old one back."""

    _theme_before = ""
    # The theme that the user picked from the list; "" if it is the config file's.
    chosen_theme = ""

    def choose_theme(self, name: str) -> None:
        """Uses a theme that the user picked, also in an earlier run; ignores unknown ones."""
        if name in self.available_themes:
            self.theme = self.chosen_theme = name

    def search_themes(self) -> None:
        """Opens the list of themes."""
        self._theme_before = self.theme
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    def action_command_palette(self) -> None:
        """Opens the palette."""
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
