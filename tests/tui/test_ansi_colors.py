"""The themes ansi-dark and ansi-light: what is marked is legible in the terminal's own colors."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color, ColorTriplet, ColorType
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI, TerminalTheme

from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from tests.tui.driving import press, settled

# The least contrast of large or bold text (WCAG 1.4.3), which marks are.
_LEAST = 3.0
# Colors of a terminal with a dark and of one with a light background.
_TERMINALS = {"ansi-dark": DIMMED_MONOKAI, "ansi-light": DEFAULT_TERMINAL_THEME}


def contrast(style: Style, terminal: TerminalTheme) -> float:
    """Return the contrast (WCAG) of text in `style`, which is from 1 to 21."""
    lighter, darker = sorted(
        (luminance(_shown(color, terminal, foreground))
         for color, foreground in ((style.color, True), (style.bgcolor, False))),
        reverse=True,
    )  # fmt: skip
    return (lighter + 0.05) / (darker + 0.05)


def _shown(color: Color | None, terminal: TerminalTheme, foreground: bool) -> ColorTriplet:
    return (color or Color.default()).get_truecolor(terminal, foreground)


def luminance(color: ColorTriplet) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def drawn(panel: LineView) -> list[Segment]:
    """Return the texts of the panel as they are drawn, each with its style."""
    lines = [panel.render_line(y) for y in range(panel.size.height)]
    return [segment for line in lines for segment in line if segment.text.strip()]


@pytest.mark.parametrize("theme", _TERMINALS)
async def test_marks_are_legible_in_the_colors_of_the_terminal(matmul: Path, theme: str) -> None:
    app = IrscopeApp(Workspace(matmul))
    async with app.run_test(size=(120, 40)) as pilot:
        app.theme = theme
        await press(pilot, "3")
        await settled(pilot)
        table, texts = app.screen.query_one(VariantTable), app.screen.query_one(DiffView)
        marks = [segment for segment in drawn(table) if segment.text.strip() in ("A", "B")]
        assert {segment.text.strip() for segment in marks} == {"A", "B"}
        segments = [*drawn(table), *drawn(texts)]
        assert sum(bool(s.style and s.style.underline) for s in segments), "words that differ are underlined"
        for segment in segments:
            assert segment.style is not None
            assert contrast(segment.style, _TERMINALS[theme]) >= _LEAST, segment
            # A color of its own cannot be legible on each background: only the terminal's are.
            for color in (segment.style.color, segment.style.bgcolor):
                assert color is None or color.type in (ColorType.DEFAULT, ColorType.STANDARD), segment
