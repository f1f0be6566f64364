"""The rows of a stage's diff, as every view shows them: changed rows with context, the rest folded.

A row's text has no source locations, expanded tabs and no control characters; its spans are what changed.

How much of a diff to show: only real changes, shapes too, or every difference between the texts.

Says what changed in a row whose two lines read the same: the constant that an operand is.

    %a = arith.divsi %n, %c : i32
    %a = arith.divsi %n, %c : i32        -> %c: arith.constant 8 : i32 -> arith.constant 4 : i32

Names carry no meaning, so that a diff of the two lines alone marks nothing.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from irscope.diff.rows import Change, LineCountChange, Row, StageDiff
from irscope.diff.word_diff import changed_spans
from irscope.languages.document import Document, Operation
from irscope.languages.language import Language
from irscope.languages.mlir import LANGUAGE as MLIR
from irscope.languages.python import LANGUAGE as PYTHON
from irscope.model.records import frozen
from irscope.model.text import display_line, pluralize
from irscope.targets import is_source_stage

if TYPE_CHECKING:
    from irscope.diff.def_use import Definitions


Span = tuple[int, int]

_NOUNS = {Change.OPERANDS: "operand", Change.TEXT: "other line"}
_PARTICIPLES = (Change.ADDED, Change.REMOVED, Change.MOVED)


@frozen
class Hunk:
    """Consecutive rows to show; `folded` is the number of rows left out before them."""

    rows: Sequence[Row]
    folded: int


@frozen
class RowSide:
    """One side of a row: its line number from 1, its printable text and the spans that changed."""

    number: int
    text: str
    spans: tuple[Span, ...]


def hunks(rows: Sequence[Row], context: int, shows: Callable[[Row], object]) -> Iterator[Hunk]:
    """Yield the rows that `shows` selects with up to `context` rows before and after each, in order.

    A last hunk without rows has the number of rows folded at the end.
    """
    position = 0
    for start, end in _ranges(rows, context, shows):
        yield Hunk(rows[start:end], start - position)
        position = end
    if position < len(rows):
        yield Hunk((), len(rows) - position)


def row_sides(diff: StageDiff, row: Row) -> tuple[RowSide | None, RowSide | None]:
    """Return the two sides of a row; a changed pair has the spans in which its texts differ."""
    left = None if row.left is None else _text(diff.left, row.left)
    right = None if row.right is None else _text(diff.right, row.right)
    spans: tuple[Sequence[Span], Sequence[Span]] = ((), ())
    if left is not None and right is not None and row.change is not Change.EQUAL:
        spans = changed_spans(left, right)
    return (
        None if row.left is None or left is None else RowSide(row.left + 1, left, tuple(spans[0])),
        None if row.right is None or right is None else RowSide(row.right + 1, right, tuple(spans[1])),
    )


def rows_in_place(diff: StageDiff) -> Sequence[Row]:
    """Return the rows of a diff with the change of an operation on the lines that differ.

    An operation with regions can differ on a later line only: `} {tt.flatten}`. Then its first
    line is equal.
    """
    if not Language.named(diff.left.language).has_regions:
        return diff.rows
    return [
        Row(row.left, row.right, Change.EQUAL)
        if row.change is not Change.EQUAL and _differs_only_below(diff, row)
        else row
        for row in diff.rows
    ]


def _differs_only_below(diff: StageDiff, row: Row) -> bool:
    """Return True if the lines below the first one show the whole change of an operation with regions.

    They show changes of the text. Changes of operands and of layouts' definitions are in no line's text.
    """
    if row.left is None or row.right is None:
        return False

    from irscope.diff.classify import classify  # the app opens without a diff

    index, right_index = (
        diff.left.operation_of_line.get(row.left),
        diff.right.operation_of_line.get(row.right),
    )
    if index is None or right_index is None:
        return False
    left, right = diff.left.operations[index], diff.right.operations[right_index]
    if left.end <= row.left + 1 or right.end <= row.right + 1:
        return False
    if row.change & ~classify(left.normalized, right.normalized, diff.left.language):
        return False
    if _texts_differ(diff, row.left, row.right):
        return False
    return _texts_differ(diff, left.end - 1, right.end - 1) or _labels_differ(diff, index, right_index)


def _labels_differ(diff: StageDiff, index: int, other: int) -> bool:
    """Return True if two operations open their regions with lines of other text."""
    return _own_labels(diff.left, index) != _own_labels(diff.right, other)


def _own_labels(document: Document, index: int) -> list[str]:
    """Return the lines that open the later regions of an operation, without names."""
    operation = document.operations[index]
    inner = [child for child in document.operations if child.parent == index]
    return [
        document.labels[line]
        for line in range(operation.line + 1, operation.end)
        if line in document.labels and not any(child.line <= line < child.end for child in inner)
    ]


def reads_differently(diff: StageDiff, row: Row) -> bool:
    """Check whether the texts of a changed row differ; not if only its layout's definition changed."""
    if row.change is not Change.LAYOUT or row.left is None or row.right is None:
        return bool(row.change)
    return _texts_differ(diff, row.left, row.right)


def _texts_differ(diff: StageDiff, left: int, right: int) -> bool:
    return any(changed_spans(diff.left.lines[left], diff.right.lines[right]))


def count_changes(rows: Iterable[Row]) -> Mapping[Change, int]:
    """Count the rows with each kind of change, most first; a moved operation counts where it was."""
    once = (row for row in rows if not (row.change & Change.MOVED and row.left is None))
    counts = Counter(kind for row in once for kind in Change if kind in row.change)
    return dict(counts.most_common())


def counts_text(counts: Mapping[Change, int]) -> str:
    """Write counts of changes by kind: "3 shapes, 1 layout, 2 added"."""
    return ", ".join(
        f"{number:,} {str(kind.name).lower()}"
        if kind in _PARTICIPLES
        else pluralize(number, _NOUNS.get(kind, str(kind.name).lower()))
        for kind, number in counts.items()
    )


def hunk_range(rows: Sequence[Row], left: bool) -> str:
    """Return a hunk's lines on one side as unified diffs write them: first line, number of lines."""
    numbers = [number for row in rows if (number := row.left if left else row.right) is not None]
    return f"{numbers[0] + 1},{len(numbers)}" if numbers else "0,0"


def source_line_counts(diff: StageDiff) -> list[LineCountChange]:
    """Return the instructions per source line that changed.

    None for MLIR and Python: their rows show it.
    """
    return [] if diff.left.language in (MLIR.name, PYTHON.name) else diff.source_lines


def _ranges(rows: Sequence[Row], context: int, shows: Callable[[Row], object]) -> Iterator[Span]:
    """Yield the ranges of rows to show, as (start, end); adjacent ranges are merged."""
    start = end = -1
    for index, row in enumerate(rows):
        if not shows(row):
            continue
        if start >= 0 and index - context <= end:
            end = min(index + context + 1, len(rows))
            continue
        if start >= 0:
            yield start, end
        start, end = max(0, index - context), min(index + context + 1, len(rows))
    if start >= 0:
        yield start, end


def _text(document: Document, line: int) -> str:
    # Locations carry no meaning in a diff, and some lines consist of them by half.
    return display_line(Language.named(document.language).strip_location(document.lines[line]))


# Differences that follow from a block size.
_FROM_SHAPES = Change.SHAPE | Change.CONSTANT


class Detail(enum.Enum):
    """The differences that count as changes; the value is the name."""

    REAL = "real changes"
    SHAPES = "shapes too"
    RAW = "raw text"

    @property
    def next(self) -> Detail:
        """Return the next level; the first after the last."""
        every = list(Detail)
        return every[(every.index(self) + 1) % len(every)]


def rows_at(detail: Detail, rows: Sequence[Row], left: Sequence[str], right: Sequence[str]) -> Sequence[Row]:
    """Return the rows of a diff; changes that do not count become equal.

    `left` and `right` are the lines.
    """
    if detail is Detail.SHAPES:
        return rows
    if detail is Detail.RAW:
        ours, theirs = list(left), list(right)  # faster than one by one
        return [_raw(row, ours, theirs) for row in rows]
    # Each flag is one object, and comparing those is 20 times as fast as hashing flags.
    changes = {id(row.change): row.change for row in rows}
    quiet = {key for key, change in changes.items() if change and not change & ~_FROM_SHAPES}
    return [Row(row.left, row.right, Change.EQUAL) if id(row.change) in quiet else row for row in rows]


def differs_materially(diff: StageDiff) -> bool:
    """Check whether a stage of the compiler differs in more than shapes and constants."""
    return diff.structural and not is_source_stage(diff.stage) and not diff.constants_only


def _raw(row: Row, left: Sequence[str], right: Sequence[str]) -> Row:
    if row.left is None or row.right is None:
        change = Change.REMOVED if row.right is None else Change.ADDED
    elif left[row.left] == right[row.right]:
        change = Change.EQUAL  # an alias has the same text whatever layout it names
    else:
        change = row.change or Change.TEXT
    return row if change is row.change else Row(row.left, row.right, change)


class OperandNotes:
    """Describes the constant operands that changed, row by row. Reads the definitions once, if it must."""

    def __init__(self, diff: StageDiff) -> None:
        self._diff = diff

    def of_row(self, row: Row) -> str:
        """Return `%c: arith.constant 8 : i32 -> arith.constant 4 : i32`, or "" if no constant changed."""
        if not row.change & Change.CONSTANT or row.left is None or row.right is None:
            return ""
        left, right = self._diff.left, self._diff.right
        index, right_index = left.operation_of_line.get(row.left), right.operation_of_line.get(row.right)
        if index is None or right_index is None:
            return ""
        notes = []
        for was, now in zip(self._constants(0, index), self._constants(1, right_index), strict=False):
            if was and now and was[1].normalized != now[1].normalized:
                notes.append(f"{was[0]}: {_value(left, was[1])} -> {_value(right, now[1])}")
        return "; ".join(dict.fromkeys(notes))

    @cached_property
    def _definitions(self) -> tuple[Definitions, Definitions]:
        from irscope.diff.def_use import definitions  # the app opens without a diff

        return definitions(self._diff.left), definitions(self._diff.right)

    def _constants(self, side: int, index: int) -> list[tuple[str, Operation] | None]:
        """Return the name and definition of each operand that is a constant; None for the others."""
        document = (self._diff.left, self._diff.right)[side]
        constants: list[tuple[str, Operation] | None] = []
        names = document.operations[index].operands
        for name, definition in zip(names, self._definitions[side][index], strict=False):
            owner = document.operations[definition.owner] if definition else None
            is_constant = owner is not None and owner.opcode.endswith(".constant")
            constants.append((name, owner) if owner and is_constant else None)
        return constants


def _value(document: Document, constant: Operation) -> str:
    text = display_line(Language.named(document.language).strip_location(document.lines[constant.line]))
    return text.partition(" = ")[2].strip() or text.strip()
