"""Colors in every theme: text is legible on what is behind it, and A, B and changes differ for every eye.

What is measured is what is drawn: the segments of each screen, with the background of their cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from rich.color import Color, ColorTriplet
from rich.segment import Segment
from textual.color import Color as CssColor
from textual.command import CommandList
from textual.screen import ModalScreen
from textual.theme import BUILTIN_THEMES

from irscope.tui.app import IrscopeApp
from irscope.tui.colors import theme_colors
from irscope.workspace import Workspace
from tests import recorded_passes
from tests.tui import captures
from tests.tui.driving import press, settled
from tests.tui.test_ansi_colors import luminance
from tests.tui.test_screens import SCREENS, Shown

# Text of normal size (WCAG 2.2, 1.4.3).
READABLE = 4.5
# The themes that have colors of their own; test_ansi_colors.py is about the others.
THEMES = [name for name, theme in BUILTIN_THEMES.items() if not theme.ansi]
# Hatching, rules, the grid of a chart and scroll bars (box drawing and block elements): nobody reads them.
_DECORATION = {"\u2571", *map(chr, range(0x2500, 0x25A0))}
MORE_SCREENS = {
    "home": Shown(("H",)),
    "estimate": Shown(("B",), captures.launched),
    "question": Shown(("q",)),
    "prompt": Shown(("colon",)),
    "no-match": Shown(("3", "slash", *"nothing")),
    "filter": Shown(("shift+tab", "F")),
    "kernels": Shown(("at",), captures.versions),
    "findings": Shown(("tab", "i")),
    "toast": Shown(("1", "A")),
    "pass-text": Shown(("p", "d", "tab", "j"), recorded_passes.write),
    "unified": Shown(("3", "u", "t", "L", "g"), captures.traced),
}

# How people see linear RGB who lack one kind of cone. Machado, Oliveira, Fernandes: A Physiologically-based
# Model for Simulation of Color Vision Deficiency (IEEE TVCG 15, 2009), table 1, severity 1.0.
BLINDNESS = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
_NORMAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# Differences in CIELAB (1976) of two large areas next to each other; 2.3 is just noticeable.
_NOTICEABLE, _OBVIOUS = 5.0, 20.0


def lab(color: CssColor, matrix: tuple[tuple[float, ...], ...] = _NORMAL) -> tuple[float, float, float]:
    """Return a color in CIELAB (D65), as seen by someone whose vision `matrix` describes."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    seen = [min(max(sum(a * b for a, b in zip(row, linear, strict=True)), 0), 1) for row in matrix]
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    xyz = [
        sum(a * b for a, b in zip(row, seen, strict=True)) / w for row, w in zip(to_xyz, white, strict=True)
    ]
    x, y, z = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one: CssColor, other: CssColor, matrix: tuple[tuple[float, ...], ...] = _NORMAL) -> float:
    """Return the distance of two colors in CIELAB."""
    pairs = zip(lab(one, matrix), lab(other, matrix), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


def contrast(segment: Segment) -> float:
    """Return the contrast (WCAG) of a drawn text, from 1 to 21."""
    assert segment.style is not None
    colors = [_triplet(color) for color in (segment.style.color, segment.style.bgcolor)]
    lighter, darker = sorted(map(luminance, colors), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _triplet(color: Color | None) -> ColorTriplet:
    assert color is not None
    return color.get_truecolor()


def drawn_text(app: IrscopeApp) -> Iterator[Segment]:
    """Yield what the screen on top draws and is read; what is dimmed below a dialog is not."""
    screen = app.screen
    rows = screen._compositor.render_full_update(simplify=False).strips
    regions = [
        widget.region for widget in screen.walk_children() if widget.visible and not widget.is_container
    ]
    for y, strips in enumerate(rows):
        x = 0
        for segment in (segment for strip in strips for segment in strip if not segment.control):
            start, x = x, x + segment.cell_length
            inside = any(region.contains(start, y) for region in regions)
            read = segment.text.strip() and not _DECORATION.issuperset(segment.text.replace(" ", ""))
            if read and (inside or not isinstance(screen, ModalScreen)):
                yield segment


# A theme takes a fifth of a second.
_FAST = ("compare", "filter")
EVERY = [
    pytest.param(name, marks=() if name in _FAST else pytest.mark.slow) for name in (SCREENS | MORE_SCREENS)
]


@pytest.mark.parametrize("name", EVERY)
async def test_all_text_is_legible_in_every_theme(tmp_path: Path, name: str) -> None:
    shown = (SCREENS | MORE_SCREENS)[name]
    app = IrscopeApp(Workspace(shown.make(tmp_path / "x.irscope")))
    illegible = set()
    async with app.run_test(size=(160, 45)) as pilot:
        await press(pilot, *shown.keys)
        for theme in THEMES:
            app.theme = theme
            await settled(pilot)
            segments = list(drawn_text(app))
            assert segments
            illegible |= {
                (f"{contrast(segment):.1f}", theme, segment.text.strip()[:30], str(segment.style))
                for segment in segments
                if round(contrast(segment), 1) < READABLE
            }
    assert not illegible, "\n".join(map(str, sorted(illegible)))


def palette(theme: str) -> dict[str, CssColor]:
    """Return the colors of a theme that irscope mixes."""
    variables = BUILTIN_THEMES[theme].to_color_system().generate() | theme_colors(BUILTIN_THEMES[theme])
    return {
        name: CssColor.parse(variables[name]) for name in ("background", *theme_colors(BUILTIN_THEMES[theme]))
    }


@pytest.mark.parametrize("kind", BLINDNESS)
@pytest.mark.parametrize("theme", THEMES)
def test_a_b_and_changes_differ_for_every_eye(theme: str, kind: str) -> None:
    colors, matrix = palette(theme), BLINDNESS[kind]

    def apart(one: str, other: str) -> float:
        return difference(colors[one], colors[other], matrix)

    assert apart("diff-left", "diff-right") >= _OBVIOUS
    for shade, least in (("row", _OBVIOUS / 2), ("span", _OBVIOUS), ("tint", _NOTICEABLE)):
        assert apart(f"left-{shade}", f"right-{shade}") >= least, shade
        for side in ("left", "right"):
            assert apart(f"{side}-{shade}", "background") >= _NOTICEABLE, (shade, side)
    for side in ("left", "right"):  # the changed tokens of a row, whose ground is the row's or the cursor's
        for ground in ("tint", "row"):
            assert apart(f"{side}-span", f"{side}-{ground}") >= _NOTICEABLE
        assert apart(f"{side}-span", "focused-row") >= _NOTICEABLE


@pytest.mark.parametrize("theme", THEMES)
def test_no_series_of_a_chart_has_the_color_of_a_or_b(theme: str) -> None:
    colors = palette(theme)
    series = [color for name, color in colors.items() if name.startswith("series-")]
    assert len(series) == 8
    for pair in ("diff-left", "diff-right"):
        assert min(difference(color, colors[pair]) for color in series) >= _OBVIOUS
    assert min(difference(one, other) for one, other in combinations(series, 2)) >= 10


async def test_the_palette_is_legible(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        for theme in THEMES:
            app.theme = theme
            await pilot.press("ctrl+p")
            while not app.screen.query_one(CommandList).option_count:
                await pilot.pause(0.02)
            await pilot.pause(0.05)
            for segment in drawn_text(app):
                assert contrast(segment) >= READABLE, (theme, segment)
            await pilot.press("escape")
            await settled(pilot)
