"""Drawing a piece of a line: syntax highlighting, changed spans and matches over a row's background."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Protocol

from pygments.lexer import Lexer
from pygments.token import Token, _TokenType
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from irscope.workspace import Language

Span = tuple[int, int]

# A longer line is wrapped at every `width` characters: looking for blanks would take too long.
_LONGEST_WRAPPED = 100_000

# Says that text is cut.
ELLIPSIS = "…"
# A hooked arrow: this screen line continues the one above.
CONTINUED = "\u21aa"

# A line can have 16,000 characters: lexing starts this far left of the screen, at a blank.
_LEAD = 120

# A separator between two tokens of one color takes that color: a structure of 1,140 types changes color once.
_BETWEEN = 2

# The style classes of irscope.tcss by token type; subtypes use the class of their parent.
_CLASSES = {
    Token.Comment: "comment",
    Token.Keyword: "keyword",
    Token.Keyword.Type: "type",
    Token.Name.Attribute: "attribute",
    Token.Name.Builtin: "keyword",
    Token.Name.Class: "type",
    Token.Name.Decorator: "attribute",
    Token.Name.Function: "function",
    Token.Name.Label: "attribute",
    Token.Literal.String: "string",
    Token.Literal.Number: "number",
    Token.Operator.Word: "keyword",
}
STYLE_CLASSES = tuple(dict.fromkeys(_CLASSES.values()))

# A piece of a line in one style: start, end, style class.
_Run = tuple[int, int, str]


@cache
def _lexer(language: str) -> Lexer:
    return Language.named(language).new_lexer()


class Styles(Protocol):
    """A panel, which knows the style classes of irscope.tcss."""

    def style(self, *names: str) -> Style:
        """Return the style of a class, with the panel's background."""

    def ink(self, name: str) -> Style:
        """Return the attributes that a style class itself sets, to add to another style."""


def code(
    text: str,
    language: str | None,
    start: int,
    width: int,
    base: Style,
    styles: Styles,
    marks: Iterable[tuple[Sequence[Span], str]] = (),
    wrapped: bool = False,
) -> list[Segment]:
    """`text[start:]` in exactly `width` cells.

    `base` is the row's style. `marks` are spans of `text` and the style class of their background; later ones
    cover earlier ones. An ellipsis at an edge says that text is cut there; it has the background of the marks
    that are off the screen on its side.
    """
    piece, before, after = _visible(text, start, width, wrapped)
    inks: list[str | None] = [None] * len(piece)
    edges = {0, len(piece)}  # where the style can change
    for first, end, name in _runs(text, language, start, width):
        last = min(end, len(piece))
        inks[first:last] = [name] * (last - first)
        edges |= {first, last}
    grounds: list[str | None] = [None] * len(piece)
    for spans, name in marks:
        for span in spans:
            first, last = max(span[0] - start, 0), min(span[1] - start, len(piece))
            if before and last <= 0:
                first, last = 0, 1
            elif after and first >= len(piece):
                first, last = len(piece) - 1, len(piece)
            if first < last:
                grounds[first:last] = [name] * (last - first)
                edges |= {first, last}
    segments: list[Segment] = []
    previous: str | None = None  # the background of the previous segment
    for first, last in pairwise(sorted(edges)):
        ink, ground, content = inks[first], grounds[first], piece[first:last]
        if segments and ground == previous and content.isspace():
            # A blank needs no color of its own: one escape sequence less to send.
            segments[-1] = Segment(segments[-1].text + content, segments[-1].style)
            continue
        style = base + styles.style(ground) if ground else base
        if ink and not ground:  # what is marked has one color
            style += styles.ink(f"code--{ink}")
        segments.append(Segment(content, style))
        previous = ground
    return fitted(segments, width, base, cell_len(piece))


def wrap_starts(text: str, width: int) -> Sequence[int]:
    """Return the starts of the screen lines of `width` cells that `text` takes.

    They follow blanks if possible.
    """
    width = max(width, 1)
    if len(text) > _LONGEST_WRAPPED:
        return range(0, len(text), width)
    starts = [0]
    while True:
        start = starts[-1]
        end = start + max(len(_fitting(text[start : start + width], width)), 1)
        if end >= len(text):
            return starts
        blank = text.rfind(" ", start + width // 2, end)
        starts.append(end + 1 if text[end] == " " else end if blank < 0 else blank + 1)


def _fitting(piece: str, width: int) -> str:
    """Return the start of `piece` that takes at most `width` cells."""
    while not piece.isascii() and (excess := cell_len(piece) - width) > 0:
        piece = piece[: -max(1, excess // 2)]  # a character takes at most two cells
    return piece


def _visible(text: str, start: int, width: int, wrapped: bool) -> tuple[str, bool, bool]:
    """At most `width` cells of `text[start:]`, with ellipses at its cut edges, and whether each edge is cut.

    Blanks at an edge are not missed.
    """
    piece = _fitting(text[start : start + width], width)
    if wrapped:
        return piece, False, False
    before = bool(width and start) and not text[:start].isspace() and bool(text)
    after = bool(width) and len(text) > start + len(piece) and not text[start + len(piece) :].isspace()
    if before:
        piece = ELLIPSIS + piece[1:]
    return f"{piece[:-1]}{ELLIPSIS}" if after else piece, before, after


def fitted(segments: list[Segment], width: int, base: Style, cells: int | None = None) -> list[Segment]:
    """Pad `segments`, or cut them with an ellipsis, to `width` cells.

    `cells` is their width if known.
    """
    if cells is None:
        cells = sum(cell_len(segment.text) for segment in segments)
    if cells < width:
        blank = " " * (width - cells)
        if segments and segments[-1].style and segments[-1].style.bgcolor == base.bgcolor:
            return [*segments[:-1], Segment(segments[-1].text + blank, segments[-1].style)]
        return [*segments, Segment(blank, base)]
    if cells <= width or not width:
        return segments if cells <= width else []
    cut = Segment.adjust_line_length(segments, width - 1, base)
    return [*cut, Segment(ELLIPSIS, cut[-1].style if cut else base)]


def occurrences(text: str, query: str, start: int, width: int) -> list[Span]:
    """Return the occurrences of `query` in the part of `text` on screen.

    Case is smart, as in `page.searcher`.
    """
    if not query:
        return []
    begin, end = max(start - len(query), 0), start + width + len(query)
    case = re.IGNORECASE if query == query.lower() else 0
    return [
        (begin + match.start(), begin + match.end())
        for match in re.finditer(re.escape(query), text[begin:end], case)
    ]


def _runs(text: str, language: str | None, start: int, width: int) -> list[_Run]:
    """Return the styled pieces of `text[start : start + width]`; positions count from `start`."""
    if language is None:
        return []
    begin = _boundary(text, start - _LEAD) if start > _LEAD else 0
    end = start + width
    styled_runs = _lex(text[begin:end], language)
    shift = start - begin
    return [(max(a - shift, 0), b - shift, name) for a, b, name in styled_runs if b > shift]


def _boundary(text: str, near: int) -> int:
    """Return the first blank from `near` on, or `near` if the next _LEAD characters have none."""
    blank = text.find(" ", near, near + _LEAD)
    return near if blank < 0 else blank


@lru_cache(maxsize=4096)
def _lex(piece: str, language: str) -> tuple[_Run, ...]:
    runs: list[_Run] = []
    for start, kind, value in _lexer(language).get_tokens_unprocessed(piece):
        name = _style_class(kind)
        if name is None:
            continue
        end = start + len(value)
        if runs and runs[-1][2] == name and start - runs[-1][1] <= _BETWEEN:
            runs[-1] = (runs[-1][0], end, name)
        else:
            runs.append((start, end, name))
    return tuple(runs)


@cache
def _style_class(kind: _TokenType) -> str | None:
    while kind not in _CLASSES:
        if kind.parent is None:
            return None
        kind = kind.parent
    return _CLASSES[kind]


# Characters to show after a span.
_CONTEXT = 6


def elided(text: str, span: Span, room: int) -> str:
    """Return a text that shows its head and a span in `room` cells, with an ellipsis for what is between.

    Of a span that is too long, only the start is on screen.
    """
    if min(span[1] + len(ELLIPSIS), len(text)) <= room:
        return text
    most = min(room - min(span[1] - span[0] + _CONTEXT, room // 2), room * 2 // 3)
    head = text.rfind(" ", 0, most) + 1 or most
    behind = room - head - len(ELLIPSIS)
    start = min(span[1] + _CONTEXT + len(ELLIPSIS) - behind, span[0])
    return text[:head] + ELLIPSIS + text[start:].removeprefix(ELLIPSIS) if start > head + 1 else text


def cell(text: str, width: int, right: bool) -> str:
    """Return `text` in `width` cells; an ellipsis replaces what does not fit."""
    text = text if len(text) <= width else f"{text[: max(width - 1, 0)]}{ELLIPSIS}"
    return text.rjust(width) if right else text.ljust(width)
