"""The command palette: its entries in their order, and the themes, each shown while the cursor is on it.

It is Textual's, but no key fails before its commands are drawn or after it is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.command import Command, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape
from textual.screen import Screen
from textual.theme import ThemeProvider
from textual.widgets import Button, Input, OptionList

from irscope.tui.input_queue import InputApp
from irscope.tui.screens.dialogs import DismissOnce

# More than any score of Textual's matcher.
_EXACT = 1000.0


class PaletteEntry(NamedTuple):
    """An action in the palette: what it does, its keys, the title of its group, and what runs it."""

    title: str
    keys: str
    group: str
    run: Callable[[], object]

    def prompt(self, title: Content, group: str = "") -> Content:
        """Return a line of the list: the keys, the title, and the group if it begins here."""
        return Content.assemble((f"{self.keys:>9}  ", "$text-accent"), title, (f"   {group}", "$muted"))


class EntryProvider(Provider):
    """The entries of the palette: the ones picked before, then in the app's order."""

    async def discover(self) -> Hits:
        """Yield all entries; the first one of a group says its title."""
        above = ""
        for entry in self.app.ordered_entries(self.screen):  # type: ignore[attr-defined]  # a ThemePreview
            prompt = entry.prompt(Content(entry.title), entry.group if entry.group != above else "")
            yield DiscoveryHit(prompt, entry.run, entry.title)
            above = entry.group

    async def search(self, query: str) -> Hits:
        """Yield the entries that match; those that contain the words as they are come first."""
        matcher = self.matcher(query)
        for entry in self.app.ordered_entries(self.screen):  # type: ignore[attr-defined]  # a ThemePreview
            score = matcher.match(entry.title)
            if score > 0:
                prompt = entry.prompt(matcher.highlight(escape(entry.title)))
                exact = _EXACT if query.lower() in entry.title.lower() else 0
                yield Hit(score + exact, prompt, entry.run, entry.title)


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

    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {EntryProvider}
    _theme_before = ""
    # The theme that the user picked from the list; "" if it is the config file's.
    chosen_theme = ""

    def __init__(self) -> None:
        super().__init__()
        # The titles of the palette's entries that were picked, the last one first.
        self.recent: list[str] = []

    def palette_entries(self, screen: Screen[object]) -> list[PaletteEntry]:
        """Return the entries of the palette over `screen`, in their order."""
        raise NotImplementedError

    def ordered_entries(self, screen: Screen[object]) -> list[PaletteEntry]:
        """Return the entries of the palette, those that were picked first; picking one is remembered."""
        entries: dict[str, PaletteEntry] = {}
        for entry in self.palette_entries(screen):
            entries.setdefault(entry.title, entry)  # a panel can have what its screen has
        recent = [entries.pop(title)._replace(group="Recent") for title in self.recent if title in entries]
        return [entry._replace(run=partial(self._pick, entry)) for entry in (*recent, *entries.values())]

    def _pick(self, entry: PaletteEntry) -> object:
        self.recent = [entry.title, *(title for title in self.recent if title != entry.title)]
        return entry.run()

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
