"""The colors of every theme, mixed so that all text is legible.

Textual's command palette, in which no key fails before its commands are drawn or after it is closed. Its list
of themes shows the one under the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.color import Color
from textual.command import Command, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape
from textual.screen import Screen
from textual.theme import Theme, ThemeProvider
from textual.widgets import Button, Input, OptionList

from irscope.tui.input_queue import InputApp
from irscope.tui.screens.dialogs import DismissOnce

# The least contrast of text (WCAG 2.2, 1.4.3), and of a theme's main text on its plain background.
_READABLE, _MAIN = 4.6, 10.0
# A and B. Blue and orange differ for every kind of color vision.
_PAIR = {True: ("#f59e3d", "#62a8ff"), False: ("#a84d00", "#1558d6")}
# The series of a chart, none of them in the colors of A and B; their marks differ too.
_SERIES = {
    True: ("#2dd4bf", "#e879f9", "#d4e157", "#fb7185", "#c4b5fd", "#4ade80", "#f5f5f4", "#a8a29e"),
    False: ("#0f766e", "#a21caf", "#5b6b00", "#be123c", "#6d28d9", "#166534", "#1c1917", "#68605b"),
}
# The terminal's own colors: the app does not know them.
_ANSI_PAIR = {True: ("ansi_yellow", "ansi_bright_blue"), False: ("ansi_red", "ansi_blue")}
_ANSI_SERIES = ("cyan", "magenta", "green", "default") * 2
# Backgrounds: the hue that is mixed into the plain one, how much of it at most, and how much of the contrast
# of the theme's main text is left at least.
_TINTS = {
    "cursor-row": ("foreground", 0.09, 0.75),
    "focused-row": ("foreground", 0.18, 0.7),
    "focused-heading": ("primary", 0.55, 0.5),
    "left-row": ("diff-left", 0.22, 0.7),
    "right-row": ("diff-right", 0.22, 0.7),
    "left-tint": ("diff-left", 0.12, 0.8),
    "right-tint": ("diff-right", 0.12, 0.8),
    "left-span": ("diff-left", 0.48, 0.4),
    "right-span": ("diff-right", 0.48, 0.4),
    "accent-row": ("accent", 0.3, 0.7),
    "good-row": ("success", 0.22, 0.7),
    "warning-row": ("warning", 0.22, 0.7),
    "error-row": ("error", 0.22, 0.7),
}
_INKS = ("primary", "secondary", "accent", "success", "warning", "error")


def theme_colors(theme: Theme) -> dict[str, str]:
    """Return the variables of irscope.tcss for a theme, and those of Textual that would not be legible.

    Text has a contrast of at least 4.5:1 to each background that the app draws it on.
    """
    if theme.ansi:
        return _ansi_colors(theme.dark)
    variables = theme.to_color_system().generate()
    hues = {
        name: Color.parse(variables[name])
        for name in ("background", "foreground", "surface", "panel", *_INKS)
    }
    end = Color.parse("white" if theme.dark else "black")
    plain = hues["background"]
    main = _legible(hues["foreground"], [plain], end, _MAIN)
    drawn = {f"series-{number}": color for number, color in enumerate(_SERIES[theme.dark])}
    drawn |= zip(("diff-left", "diff-right"), _PAIR[theme.dark], strict=True)
    # Marks of A, B and series are only drawn on, or in, the plain background.
    marks = {name: _legible(Color.parse(color), [plain], main, _READABLE) for name, color in drawn.items()}
    hues |= {**marks, "foreground": main}
    tints = {name: _tint(plain, hues[hue], most, main, share) for name, (hue, most, share) in _TINTS.items()}
    # Changed tokens and headings have the main text's color.
    own = ("left-span", "right-span", "focused-heading")
    grounds = [plain, hues["surface"], hues["panel"], *(tints[name] for name in tints if name not in own)]

    def ink(color: Color) -> str:
        return _legible(color, grounds, main, _READABLE).hex

    muted = ink(plain.blend(main, 0.4))
    return {
        **{name: tint.hex for name, tint in tints.items()},
        **{f"text-{name}": ink(Color.parse(variables[f"text-{name}"])) for name in _INKS},
        **{name: color.hex for name, color in marks.items()},
        **dict.fromkeys(("foreground", "text", "block-cursor-foreground"), main.hex),
        **dict.fromkeys(("muted", "text-muted", "text-disabled"), muted),
        "rule": plain.blend(main, 0.2).hex,
        "block-cursor-background": tints["focused-row"].hex,
    }


def _ansi_colors(dark: bool) -> dict[str, str]:
    """Return the variables for a theme of the terminal's colors, of which nothing can be mixed."""
    left, right = _ANSI_PAIR[dark]
    return {
        **dict.fromkeys((*_TINTS, "muted", "rule"), "ansi_default"),
        **{f"series-{number}": f"ansi_{color}" for number, color in enumerate(_ANSI_SERIES)},
        "diff-left": left,
        "diff-right": right,
    }


def _tint(plain: Color, hue: Color, most: float, main: Color, share: float) -> Color:
    """Return `plain` with as much of `hue`, up to `most`, as leaves `main` a share of its contrast."""
    least = max(_contrast(main, plain) * share, _READABLE)
    amounts = (most * step / 20 for step in range(20, 0, -1))
    tints = (plain.blend(hue, amount, alpha=1) for amount in amounts)
    return next((tint for tint in tints if _contrast(main, tint) >= least), plain)


def _legible(color: Color, grounds: Sequence[Color], end: Color, least: float) -> Color:
    """Return `color`, mixed with as little of `end` as has a contrast of `least` to all `grounds`."""
    mixed = (color.blend(end, step / 20, alpha=1) for step in range(20))
    return next((mix for mix in mixed if min(_contrast(mix, ground) for ground in grounds) >= least), end)


def _contrast(one: Color, other: Color) -> float:
    """Return the contrast of two colors, from 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((_luminance(one.rgb), _luminance(other.rgb)))
    return (lighter + 0.05) / (darker + 0.05)


@lru_cache(maxsize=1024)
def _luminance(rgb: tuple[int, int, int]) -> float:
    """Return the relative luminance of a color of sRGB, from 0 to 1 (WCAG 2.2)."""
    parts = [value / 255 for value in rgb]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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
        """Yield the entries that match."""
        matcher = self.matcher(query)
        for entry in self.app.ordered_entries(self.screen):  # type: ignore[attr-defined]  # a ThemePreview
            score = matcher.match(entry.title)
            if score > 0:
                prompt = entry.prompt(matcher.highlight(escape(entry.title)))
                yield Hit(score, prompt, entry.run, entry.title)


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
        entries = {entry.title: entry for entry in self.palette_entries(screen)}
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
