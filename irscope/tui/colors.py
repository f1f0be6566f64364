"""The colors of every theme: tints and inks, mixed so that all text is legible."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from textual.color import Color
from textual.theme import Theme

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
    "left-tint": ("diff-left", 0.14, 0.78),
    "right-tint": ("diff-right", 0.14, 0.78),
    "left-span": ("diff-left", 0.48, 0.4),
    "right-span": ("diff-right", 0.48, 0.4),
    "accent-row": ("accent", 0.3, 0.7),
    "good-row": ("success", 0.22, 0.7),
    "warning-row": ("warning", 0.22, 0.7),
    "error-row": ("error", 0.22, 0.7),
}
_MAIN_TEXT = ("foreground", "text", "block-cursor-foreground", "block-cursor-blurred-foreground")
_GROUNDS = ("background", "surface", "panel")
# The least luminance of a light background.
_WHITE = 0.85
_INKS = ("primary", "secondary", "accent", "success", "warning", "error")


def theme_colors(theme: Theme) -> dict[str, str]:
    """Return the variables of irscope.tcss for a theme, and those of Textual that would not be legible.

    Text has a contrast of at least 4.5:1 to each background that the app draws it on.
    """
    if theme.ansi:
        return _ansi_colors(theme.dark)
    variables = theme.to_color_system().generate()
    names = (*_GROUNDS, "foreground", *_INKS)
    hues = {name: Color.parse(variables[name]) for name in names}
    white = Color.parse("white")
    end = white if theme.dark else Color.parse("black")
    if not theme.dark and _luminance(hues["background"].rgb) < _WHITE:
        # Colors on gray would be nearly black.
        hues |= {name: hues[name].blend(white, 0.7, alpha=1) for name in _GROUNDS}
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
    grounds = [*(hues[name] for name in _GROUNDS), *(tints[name] for name in tints if name not in own)]

    def ink(color: Color) -> str:
        return _legible(color, grounds, main, _READABLE).hex

    muted = ink(plain.blend(main, 0.4))
    return {
        **{name: tint.hex for name, tint in tints.items()},
        **{name: hues[name].hex for name in _GROUNDS},
        **{
            f"text-{name}": ink(Color.parse(variables[f"text-{name}"] if theme.dark else variables[name]))
            for name in _INKS
        },
        **{name: color.hex for name, color in marks.items()},
        **dict.fromkeys(_MAIN_TEXT, main.hex),
        **dict.fromkeys(("muted", "text-muted", "text-disabled"), muted),
        "rule": plain.blend(main, 0.2).hex,
        "block-cursor-background": tints["focused-row"].hex,
        "block-cursor-blurred-background": tints["focused-row"].hex,
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
