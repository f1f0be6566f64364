"""The detail lines under the texts: the change under the cursor in full, whatever the columns cut off.

`threadsPerWarp: [4, 8] → [2, 16]   64x64xf32 → 64x128xf32`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from irscope.tui.line_flags import LineFlags
from irscope.tui.page import Page
from irscope.tui.paint import Styles, wrap_starts
from irscope.workspace import Change, LineChange, Pressure, Row, content_span, line_changes

STYLE_CLASSES = ("detail", "detail--label")
# A hostile line can have thousands of changes; more do not fit any screen.
_MOST = 200

# A piece of text and the style class that is added to the detail line's own; "" for none.
Piece = tuple[str, str]
# Between two changes.
GAP: Piece = ("   ", "")


def pieces(page: Page, row: Row, left: str, right: str) -> Iterator[Piece]:
    """The change of a row, whose lines are `left` and `right`; nothing for equal lines."""
    change = row.change
    if not page.compared or not change:
        return
    if change & Change.MOVED:
        side = "B" if row.left is None else "A"
        yield f"moved: this is its place in {side}  ", "detail--label"
        yield _content(right or left), "span--right" if row.left is None else "span--left"
    elif row.right is None:
        yield "- only in A  ", "detail--label"
        yield _content(left), "span--left"
    elif row.left is None:
        yield "+ only in B  ", "detail--label"
        yield _content(right), "span--right"
    else:
        yield from _changed(page, row, left, right)


def _content(text: str) -> str:
    """A line without its indentation and address, and with single blanks."""
    return " ".join(text[slice(*content_span(text))].split())


def _changed(page: Page, row: Row, left: str, right: str) -> Iterator[Piece]:
    found = line_changes(left, right, page.raw)[:_MOST]
    if found:
        yield from _each(found)
    elif row.change & Change.LAYOUT and (layouts := _layouts(page, left, right)):
        yield "same text, other layout  ", "detail--label"
        yield from _each(layouts)
    elif page.operands and (operands := page.operands.of_row(row)):
        yield "same text, other constant  ", "detail--label"
        yield operands, "span--right"
    elif row.change & Change.OPERANDS:
        yield "same text, but an operand is the result of another operation", "detail--label"
    else:
        yield "only names or locations differ", "detail--label"


def _each(changes: Iterable[LineChange]) -> Iterator[Piece]:
    for number, change in enumerate(changes):
        if number:
            yield GAP
        if change.label:
            yield f"{change.label}: ", "detail--label"
        yield change.before or "nothing", "span--left" if change.before else ""
        yield " → ", ""
        yield change.after or "nothing", "span--right" if change.after else ""


def _layouts(page: Page, left: str, right: str) -> Sequence[LineChange]:
    """The fields that differ of the layouts in two lines."""
    return [
        LineChange(f"{layout.left.alias} {name}", before, after)
        for layout in page.layouts
        if layout.left and layout.right and layout.left.alias in left and layout.right.alias in right
        for name, before, after in layout.fields
    ]


def notes(flags: tuple[LineFlags, LineFlags], row: Row, compared: bool) -> Iterator[Piece]:
    """The hot loop that the lines of a row are in, and the registers that are occupied."""
    sides = [
        (letter if compared else "", own, line)
        for letter, own, line in zip("AB", flags, (row.left, row.right), strict=True)
        if line is not None
    ]
    loops = [(letter, own.marks.loop) for letter, own, line in sides if own.is_hot(line)]
    if loops:
        yield "┃ ", "hot"
        yield f"in the hot loop{_sides(loops)}", "detail--label"
    counts = [
        (letter, _count(own.pressure, line))
        for letter, own, line in sides
        if own.pressure and line in own.pressure.by_line
    ]
    pressures = [own.pressure for own in flags if own.pressure]
    if counts:
        if loops:
            yield GAP
        yield f"live registers{_sides(counts)}; {_origin(pressures[0])}", "detail--label"


def _sides(texts: Sequence[tuple[str, str]]) -> str:
    """`: A of line 87, B of line 88`; one text for both if they agree."""
    known = [(letter, text) for letter, text in texts if text]
    if not known:
        return ""
    if len({text for _, text in known}) == 1 and len(known) == len(texts):
        return f": {known[0][1]}"
    return f": {', '.join(f'{letter} {text}'.strip() for letter, text in known)}"


def _count(pressure: Pressure, line: int) -> str:
    """`112 of 120 (most 118, line 724)`."""
    most = pressure.by_line.get(pressure.peak_line, 0)
    allocated = (
        f" of {pressure.allocated}" if pressure.allocated is not None and not pressure.estimate else ""
    )
    where = "the most" if line == pressure.peak_line else f"most {most:.0f}, line {pressure.peak_line + 1}"
    return f"{pressure.by_line[line]:.0f}{allocated} ({where})"


def _origin(pressure: Pressure) -> str:
    if pressure.estimate:
        return f"estimate: the registers of {pressure.stage} are virtual; limit {pressure.limit}"
    return f"liveness of the {pressure.stage} text; limit {pressure.limit}"


def rows(found: Iterable[Piece], width: int, base: Style, styles: Styles) -> list[list[Segment]]:
    """The pieces on screen lines of at most `width` cells; a piece that is longer is split."""
    lines: list[list[Segment]] = [[]]
    free = width
    for text, name in found:
        style = base + styles.ink(name) if name else base
        if cell_len(text) > free < width and cell_len(text) <= width:
            lines.append([])
            free = width
            text = text.lstrip()  # noqa: PLW2901  a gap is not needed at the start of a line
        while text:
            starts = wrap_starts(text, free) if free else (0, 0)
            end = starts[1] if len(starts) > 1 else len(text)
            if end:
                lines[-1].append(Segment(text[:end], style))
                free -= cell_len(text[:end])
            text = text[end:]  # noqa: PLW2901
            if text:
                lines.append([])
                free = width
    return lines
