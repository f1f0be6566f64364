"""The Python source next to a stage: the lines that the stage's line came from, and what a line became."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui import paint
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.page import PageSide
from irscope.tui.paint import CONTINUED, cell, code, fitted, wrap_starts
from irscope.tui.widgets.line_view import ItemView, Piece
from irscope.workspace import PythonSource, SourcePlace
from irscope.workspace.source_lines import LineOutcome

# Cells for the numbers of operations in A and B, and around the line number.
_COUNTS = 9
_GUTTER = 3


class SourceView(ItemView[str]):
    """Lines of Python, with their numbers and how many operations of the stage came from each."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the Python source",
        (key("enter", "choose", "Go to the next operation of the line", "follow", name="follow"),),
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "number",
        "gutter",
        "row--highlighted",
        *(f"code--{name}" for name in paint.STYLE_CLASSES),
    }

    def __init__(self) -> None:
        super().__init__()
        # The source on screen.
        self.python = PythonSource()
        self._side = PageSide([])
        self._counts: Mapping[int, tuple[int, int]] = {}
        self._highlighted: Collection[int] = ()

    @property
    def text_under_cursor(self) -> str:
        """Return the line under the cursor."""
        return self.current or ""

    @property
    def place(self) -> SourcePlace | None:
        """Return the place of the line under the cursor, or None if it is not code."""
        return self.python.places[self.cursor] if self.python.places else None

    def show_source(self, python: PythonSource, stage: str, counts: Mapping[int, tuple[int, int]]) -> None:
        """Show a source with the number of operations of `stage` per line, in A and B."""
        self.python, self._counts = python, counts
        self._side = PageSide(python.texts, "python", python.numbers)
        self.heading = f"{'A→B':>{_COUNTS - 1}}  Python, and its number of operations in {stage}"
        self.show(python.texts)

    def on_resize(self) -> None:
        """Scroll to the cursor again: lines have other heights, and at first it moves before the layout."""
        self.lines_changed()
        self.center(self.cursor)

    def highlight(self, lines: Collection[int], cursor: int) -> None:
        """Highlights lines (from 0) and moves the cursor."""
        for line in {*lines} ^ {*self._highlighted}:
            self.refresh_index(line)
        self._highlighted = lines
        self.reveal_centered(cursor)
        self.cursor = cursor

    def plain_text(self, index: int) -> str:
        """Return the whole line, without numbers."""
        return display_line(self._side.lines[index]) if index < self.line_count() else ""

    def line_numbered(self, number: int) -> int | None:
        """Return the line with this number in the file."""
        return self._side.line_numbered(number)

    @property
    def wraps(self) -> bool:
        """Python is always wrapped: the panel is narrow, and a cut statement says nothing."""
        return True

    def line_height(self, index: int) -> int:
        """Return the number of screen lines that a line takes."""
        return min(len(wrap_starts(display_line(self._side.lines[index]), self._room)), self.page_lines)

    @property
    def _room(self) -> int:
        return max(self.area.width - _COUNTS - self._side.number_width - _GUTTER, 1)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw the first part of a line of Python."""
        return self.draw_part(index, 0, width)

    def draw_part(self, index: int, part: int, width: int) -> Strip:
        """Draw a part of a line of Python; only the first has its number."""
        side = self._side
        highlighted = index in self._highlighted
        at_cursor = index == self.cursor
        row = "row--highlighted" if highlighted else "row--cursor"
        base = self.style(row) if highlighted or at_cursor else self.base
        number = "" if part else side.number(index)
        sign = CONTINUED if part else "▸" if highlighted else " "
        gutter = f" {number:>{side.number_width}} {sign}"
        counts = "" if part else counts_text(*self._counts.get(index, (0, 0)))
        text = display_line(side.lines[index])
        starts = [*wrap_starts(text, self._room), len(text)]
        last = part + 1 == self.page_lines  # a longer line does not fit the panel
        piece = text if last else text[: starts[part + 1]]
        segments = [
            Segment(f"{counts:>{_COUNTS}}", base + self.ink("gutter")),
            Segment(gutter, base + self.ink("number")),
            *code(piece, side.language, starts[part], self._room, base, self, wrapped=not last),
        ]
        return Strip(fitted(segments, width, base), width)


class LineOutcomesView(ItemView[LineOutcome]):
    """The stages' operations for a line of Python: a class of operations per line, with their numbers."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the list of what a line became",
        (key("enter", "choose", "Go to the stage of these operations", "go there", name="go"),),
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {"gutter"}

    @property
    def text_under_cursor(self) -> str:
        """Return the opcode under the cursor."""
        return self.current.opcode if self.current else ""

    def pieces(self, item: LineOutcome, index: int, width: int) -> Sequence[Piece]:
        """Return a class of operations; the first of each stage has the stage's name."""
        first = index == 0 or self.items[index - 1].stage != item.stage
        differs = item.left != item.right and None not in (item.left, item.right)
        left, right = ("-" if number is None else f"{number:,}" for number in (item.left, item.right))
        numbers = f" {left:>6} {right:>6} "
        return [
            (f" {item.stage if first else '':<8} ", ""),
            ("~ " if differs else "  ", "gutter"),
            (cell(display_line(item.opcode), max(width - len(numbers) - 12, 1), right=False), ""),
            (numbers, ""),
        ]


def counts_text(left: int, right: int) -> str:
    """Return `4`, or `4→6` if A and B differ; "" if both have none."""
    if left == right:
        return str(left) if left else ""
    return f"{left}→{right}"
