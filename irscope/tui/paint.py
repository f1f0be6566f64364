"""Drawing a piece of one line: syntax colours, changed spans and search matches over a row's background."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from irscope.tui.highlight import runs

Span = tuple[int, int]


class Styles(Protocol):
    """Who knows the style classes of irscope.tcss: a panel."""

    def style(self, *names: str) -> Style:
        """Colour and background of a style class."""

    def ink(self, name: str) -> Style:
        """What a style class itself sets, to be laid over another style."""


def code(
    text: str,
    language: str | None,
    start: int,
    width: int,
    base: Style,
    styles: Styles,
    marks: Iterable[tuple[Sequence[Span], str]] = (),
) -> list[Segment]:
    """`text[start:]` in exactly `width` cells.

    `base` is the row's style; each of `marks` is spans of `text` and the style class under them, a
    later one over an earlier.
    """
    piece = text[start : start + width]
    inks: list[str | None] = [None] * len(piece)
    edges = {0, len(piece)}  # where the style may change
    for first, end, name in runs(text, language, start, width):
        last = min(end, len(piece))
        inks[first:last] = [name] * (last - first)
        edges |= {first, last}
    grounds: list[str | None] = [None] * len(piece)
    for spans, name in marks:
        for span in spans:
            first, last = max(span[0] - start, 0), min(span[1] - start, len(piece))
            if first < last:
                grounds[first:last] = [name] * (last - first)
                edges |= {first, last}
    segments: list[Segment] = []
    under: str | None = None  # the ground of the segment before
    for first, last in pairwise(sorted(edges)):
        ink, ground, content = inks[first], grounds[first], piece[first:last]
        if segments and ground == under and content.isspace():
            # A blank has no ink: one escape sequence less to send.
            segments[-1] = Segment(segments[-1].text + content, segments[-1].style)
            continue
        style = base + styles.style(ground) if ground else base
        if ink and ground != "match":
            style += styles.ink(f"code--{ink}")
        segments.append(Segment(content, style))
        under = ground
    return fitted(segments, width, base, len(piece) if piece.isascii() else None)


def fitted(segments: list[Segment], width: int, base: Style, cells: int | None = None) -> list[Segment]:
    """`segments` filled up or cut to `width` cells; `cells` is how many they have, where that is known."""
    if cells is None:
        cells = sum(cell_len(segment.text) for segment in segments)
    if cells < width:
        blank = " " * (width - cells)
        if segments and segments[-1].style and segments[-1].style.bgcolor == base.bgcolor:
            return [*segments[:-1], Segment(segments[-1].text + blank, segments[-1].style)]
        return [*segments, Segment(blank, base)]
    return Segment.adjust_line_length(segments, width, base) if cells > width else segments


def occurrences(text: str, query: str, start: int, width: int) -> list[Span]:
    """Where `query` stands in the part of `text` that is on screen; smart case, as `page.searcher`."""
    if not query:
        return []
    begin, end = max(start - len(query), 0), start + width + len(query)
    piece = text[begin:end] if query != query.lower() else text[begin:end].lower()
    found = []
    place = piece.find(query)
    while place >= 0:
        found.append((begin + place, begin + place + len(query)))
        place = piece.find(query, place + len(query))
    return found
