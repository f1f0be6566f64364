"""Styles for text on a terminal. Every meaning has a sign or an attribute beside its colour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.color import ColorSystem
from rich.style import Style

# Bold, reverse and dim work without colour; NO_COLOR asks for colours to go, not for these.
STYLES = {
    "heading": Style(bold=True),
    "removed": Style(color="red"),
    "added": Style(color="green"),
    "changed": Style(bold=True, reverse=True),
    "dim": Style(dim=True),
    "warning": Style(color="yellow", bold=True),
    "best": Style(color="green", bold=True),
}

Piece = tuple[str, str]  # text and the name of its style, "" for none


@dataclass(frozen=True, slots=True)
class Paint:
    """How to style: `attributes` for a terminal, `colour` too unless NO_COLOR is set."""

    attributes: bool = False
    colour: bool = False

    def __call__(self, text: str, *styles: str) -> str:
        """`text` in these styles, as it is where there are to be none. It must be printable already."""
        named = [STYLES[style] for style in styles if style]
        if not self.attributes or not named or not text:
            return text
        style = Style.combine(named)
        if not self.colour:
            style = style.without_color
        return style.render(text, color_system=ColorSystem.STANDARD)


PLAIN = Paint()


def spans_to_pieces(text: str, spans: Iterable[tuple[int, int]]) -> list[Piece]:
    """`text` cut at `spans` (start, end; in order), which get the style "changed"."""
    pieces: list[Piece] = []
    position = 0
    for start, end in spans:
        pieces += [(text[position:start], ""), (text[start:end], "changed")]
        position = end
    return [piece for piece in [*pieces, (text[position:], "")] if piece[0]]
