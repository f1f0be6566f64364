"""Styles for text on a terminal. No meaning depends on color only: each has a sign or an attribute too."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from irscope.model.records import frozen

if TYPE_CHECKING:
    from rich.style import Style

# As Rich reads them. NO_COLOR removes colors, but not bold, reverse and dim.
_STYLES = {
    "heading": "bold",
    "removed": "red",
    "added": "green",
    "changed": "bold reverse",
    "dim": "dim",
    "warning": "bold yellow",
    "best": "bold green",
    # Of timelines: neighbors in time have different colors.
    "wait": "red",
    "iteration0": "cyan",
    "iteration1": "magenta",
    "iteration2": "green",
    "iteration3": "yellow",
}

Piece = tuple[str, str]  # text and the name of its style, "" for none


@frozen
class Paint:
    """How to style: `attributes` on a terminal, `color` too unless NO_COLOR is set."""

    attributes: bool = False
    color: bool = False

    def __call__(self, text: str, *styles: str) -> str:
        """`text` in these styles, or unchanged if there are none. It must be printable already."""
        named = [style for style in styles if style]
        if not self.attributes or not named or not text:
            return text
        from rich.color import ColorSystem  # here because output in a pipe has no styles
        from rich.style import Style

        style = Style.combine(map(_style, named))
        if not self.color:
            style = style.without_color
        return style.render(text, color_system=ColorSystem.STANDARD)


@cache
def _style(name: str) -> Style:
    from rich.style import Style

    return Style.parse(_STYLES[name])


PLAIN = Paint()


def spans_to_pieces(text: str, spans: Iterable[tuple[int, int]]) -> list[Piece]:
    """`text` split at `spans` (start and end, in order), which have the style "changed"."""
    pieces: list[Piece] = []
    position = 0
    for start, end in spans:
        pieces += [(text[position:start], ""), (text[start:end], "changed")]
        position = end
    return [piece for piece in [*pieces, (text[position:], "")] if piece[0]]
