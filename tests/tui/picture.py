"""A screen as text: its characters, then the style of every cell, run by run. Small, and readable in a diff.

An SVG of a screen of 200x50 has 230 kB, this 15 kB; themes share the characters.
"""

from __future__ import annotations

from itertools import groupby
from string import ascii_lowercase

from rich.segment import Segment
from rich.style import Style
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.app import App

from irscope.tui.widgets.styled import Styled


class TextPicture(SingleFileSnapshotExtension):
    """A file per picture."""

    _file_extension = "txt"
    _write_mode = WriteMode.TEXT


def characters(app: App[None]) -> str:
    """The characters on the screen."""
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in _lines(app)) + "\n"


def styles(app: App[None]) -> str:
    """The styles: `12a3b` is 12 cells in style a, then 3 in style b; a list of the styles follows."""
    names: dict[str, str] = {}
    lines = []
    for line in _lines(app):
        cells = [(_describe(segment.style), segment.cell_length) for segment in line]
        runs = [
            (style, sum(length for _, length in run))
            for style, run in groupby(cells, key=lambda cell: cell[0])
        ]
        lines.append(
            "".join(f"{length}{names.setdefault(style, _name(len(names)))}" for style, length in runs)
        )
    return "\n".join([*lines, *(f"{name}: {style}" for style, name in names.items())]) + "\n"


def check_nothing_is_stale(app: App[None]) -> None:
    """Check that the screen is what drawing all of it again gives: panels keep the lines that they drew."""
    before = characters(app), styles(app)
    for panel in app.screen.walk_children(Styled):
        panel.refresh()
    assert (characters(app), styles(app)) == before


def _lines(app: App[None]) -> list[list[Segment]]:
    screen = app.screen
    update = screen._compositor.render_full_update(simplify=True)
    return [[segment for strip in line for segment in strip if not segment.control] for line in update.strips]


def _describe(style: Style | None) -> str:
    if style is None:
        return "none"
    attributes = [name for name in ("bold", "dim", "italic", "underline", "reverse") if getattr(style, name)]
    colors = [color.name if color else "-" for color in (style.color, style.bgcolor)]
    return " ".join([" on ".join(colors), *attributes])


def _name(number: int) -> str:
    """a, b, ..., z, ba, bb, ..."""
    digits = ascii_lowercase[number % 26]
    return digits if number < 26 else _name(number // 26) + digits
