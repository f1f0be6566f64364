"""The result of a diff: rows of aligned lines with classified changes, and their totals per stage.

%0 = tt.splat %n : i32 -> tensor<64xi32>      %0 = tt.splat %n : i32 -> tensor<128xi32>
-> Row(left=12, right=12, change=Change.SHAPE)

Instruction counts per source line and class, on either side.

    kernels.py:14  ld.global.v4.b32   8 -> 2
    kernels.py:14  ld.global.b32      0 -> 24

Below TTGIR, one operation becomes hundreds of instructions, and aligned rows do not show a change like this.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import NamedTuple

from irscope.diff.line_map import NO_LINES, LineMap
from irscope.languages.document import OPAQUE, Document, Layout
from irscope.languages.language import Language
from irscope.model.records import frozen


class Change(enum.Flag):
    """How the two sides of a row differ. A row can have several changes; EQUAL is the empty flag.

    SHAPE: a dimension of a tensor or vector type. LAYOUT: the kind or a field of a layout. CONSTANT: a
    literal value. ATTRIBUTE: an attribute or modifier of the same operation. TYPE: an element type or kind
    of type. OPERANDS: the definitions of an operand do not match each other. ADDED, REMOVED: the operation
    has no match. TEXT: lines outside of operations differ. MOVED: the operation's match is elsewhere, so it
    has a row on each side.
    """

    EQUAL = 0
    SHAPE = enum.auto()
    LAYOUT = enum.auto()
    CONSTANT = enum.auto()
    ATTRIBUTE = enum.auto()
    TYPE = enum.auto()
    OPERANDS = enum.auto()
    ADDED = enum.auto()
    REMOVED = enum.auto()
    TEXT = enum.auto()
    MOVED = enum.auto()

    # There are a few hundred combinations and many rows: each member computes these once.
    @cached_property
    def structural(self) -> bool:
        """Return True for a real change: more than shapes, constants, order, lines outside of operations."""
        return bool(self & ~(Change.SHAPE | Change.CONSTANT | Change.TEXT | Change.MOVED))

    @property
    def mirrored(self) -> Change:
        """Return the change with the sides swapped."""
        return self if self is Change.EQUAL else _mirrored(self)

    @property
    def names(self) -> list[str]:
        """Return the names of the kinds of change that it consists of: "shape", "layout", ..."""
        return [str(kind.name).lower() for kind in Change if kind in self]

    @cached_property
    def mark(self) -> str:
        """Return a character for the gutter that shows a change without color: + - > ~ or a blank."""
        if self & Change.ADDED:
            return "+"
        if self & Change.REMOVED:
            return "-"
        if self & Change.MOVED:
            return ">"
        return "~" if self else " "


@cache
def _mirrored(change: Change) -> Change:
    both = Change.ADDED | Change.REMOVED
    return change ^ both if change & both else change


class Row(NamedTuple):
    """Two aligned lines, as indices from 0; None on the side that has no matching line.

    The rows of a diff are in the order of both texts and contain every line of both exactly once. A named
    tuple, because a diff has up to a million.
    """

    left: int | None
    right: int | None
    change: Change

    @property
    def mirrored(self) -> Row:
        """Return the row with the sides swapped."""
        return Row(self.right, self.left, self.change.mirrored)


@frozen
class LayoutChange:
    """Two layouts that differ, matched by the values that have them and not by alias.

    `fields` are (name, left text, right text) of the parameters that differ; `uses` counts the matched
    operations whose types have the pair. `left` and `right` are the layouts of A and B, None if that side
    has none.
    """

    left: Layout | None
    right: Layout | None
    fields: tuple[tuple[str, str, str], ...]
    uses: int

    @property
    def mirrored(self) -> LayoutChange:
        """Return the change with the sides swapped."""
        fields = tuple((name, right, left) for name, left, right in self.fields)
        return LayoutChange(self.right, self.left, fields, self.uses)


# Operations that define a value and read none.
_CONSTANT_OPCODES = ("arith.constant", "tt.make_range")
_FROM_CONSTANTS = (
    Change.SHAPE
    | Change.CONSTANT
    | Change.OPERANDS
    | Change.TEXT
    | Change.ADDED
    | Change.REMOVED
    | Change.MOVED
)


@frozen
class StageDiff:
    """The diff of one stage of two variants.

    `stage` is its name. `left` and `right` are the parsed texts of A and B, each with its own locations.
    `rows` pair their lines, `layouts` are the layouts that changed. `counts` has the number of operations per
    change. `lines` are the lines of A's source in B's. `rough` says that the texts were too large, and had
    too little in common, to find all operations that match. `without_moves` says that there were too many
    operations to look for those that moved: they are removed and added.
    """

    stage: str
    left: Document
    right: Document
    rows: Sequence[Row]
    layouts: tuple[LayoutChange, ...]
    counts: dict[Change, int]
    lines: LineMap = NO_LINES
    rough: bool = False
    without_moves: bool = False

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{number} {(change.name or '').lower()}" for change, number in self.counts.items() if number
        )
        return f"StageDiff({self.stage}: {counts or 'equal'})"

    def _repr_html_(self) -> str:
        from irscope.model.text import html_paragraph

        return html_paragraph(repr(self))

    def in_lines_of_b(self) -> StageDiff:
        """Return the diff with both sides' locations as lines of B, so that equal lines compare equal."""
        return replace(self, left=self.lines.in_lines_of_b(self.left), lines=NO_LINES)

    @property
    def equal(self) -> bool:
        """Return True if at most names, locations and the order of aliases differ."""
        return not any(self.counts.values()) and not self.layouts

    @property
    def structural(self) -> bool:
        """Return True if the stages differ in more than shapes and the constants that follow from them."""
        return bool(self.layouts) or any(n for change, n in self.counts.items() if change.structural)

    @property
    def mirrored(self) -> StageDiff:
        """Return the diff with the sides swapped."""
        layouts = [change.mirrored for change in self.layouts]
        layouts.sort(
            key=lambda change: (change.left is None) - (change.right is None) if not change.uses else -2
        )
        counts = {change: self.counts.get(change.mirrored, 0) for change in Change}
        return StageDiff(
            self.stage,
            self.right,
            self.left,
            _left_first(_mirrored_rows(self.rows)),
            tuple(layouts),
            {change: number for change, number in counts.items() if number},
            self.lines.inverse,
            self.rough,
            self.without_moves,
        )

    def is_constant(self, row: Row) -> bool:
        """Check whether a row that only one side has is the definition of a constant."""
        document, line = (self.left, row.left) if row.right is None else (self.right, row.right)
        operation = document.operation_at(line)
        return operation is not None and operation.opcode in _CONSTANT_OPCODES

    @property
    def constants_only(self) -> bool:
        """Return True if constants were added or removed, and only their users' operands differ.

        Two constants that become equal are merged into one, so another value can change the number
        of operations without being a real change.
        """
        unmatched = [row for row in self.rows if row.change & (Change.ADDED | Change.REMOVED)]
        if not unmatched or self.layouts or any(row.change & ~_FROM_CONSTANTS for row in self.rows):
            return False
        return all(map(self.is_constant, unmatched))

    @property
    def summary(self) -> str:
        """Return one line: "0 added, 0 removed, 41 shapes, 1 layout: #mma warpsPerCTA [4, 1] -> [8, 1]"."""
        if self.equal:
            return "equal"
        counts = self.counts
        parts = [f"{counts.get(Change.ADDED, 0)} added", f"{counts.get(Change.REMOVED, 0)} removed"]
        if counts.get(Change.MOVED):
            parts.append(f"{counts[Change.MOVED]} moved")
        parts += [_count(counts[kind], noun) for kind, noun in _NOUNS.items() if counts.get(kind)]
        if self.layouts:
            changes = "; ".join(map(describe_layout, self.layouts))
            parts.append(f"{_count(len(self.layouts), 'layout')}: {changes}")
        elif counts.get(Change.LAYOUT):
            parts.append(_count(counts[Change.LAYOUT], "operation") + " with another layout")
        if self.rough:
            parts.append("matched roughly: too large and too different for an exact diff")
        if self.without_moves:
            parts.append("too large to look for moved operations")
        return ", ".join(parts)

    @property
    def label(self) -> str:
        """Return a tab's label with only the main change: "=", "+12 -3", "2 layouts", "53 shapes"."""
        if self.equal:
            return "="
        counts = self.counts
        added, removed = counts.get(Change.ADDED, 0), counts.get(Change.REMOVED, 0)
        if added or removed:
            return f"+{added} -{removed}"
        if self.layouts or counts.get(Change.LAYOUT):
            return _count(len(self.layouts) or counts[Change.LAYOUT], "layout")
        if set(counts) == {Change.MOVED}:
            return f"{counts[Change.MOVED]} moved"
        kind = max(_NOUNS, key=lambda change: counts.get(change, 0))
        return _count(counts[kind], _NOUNS[kind])

    @property
    def source_lines(self) -> list[LineCountChange]:
        """Return the source lines and instruction classes whose counts differ, the most important first.

        Lines are those of the kernel itself: the code of an inlined helper counts for the line of
        its call. Matrix and memory instructions precede others, larger differences precede smaller
        ones.
        """
        language = Language.named(self.left.language)
        diff = self.in_lines_of_b()
        left, right = _class_counts(diff.left, language), _class_counts(diff.right, language)
        changes = [
            LineCountChange(file, line, opcode, left[key], right[key], removed)
            for key in {**left, **right}
            if left[key] != right[key]
            for file, line, removed, opcode in [key]
        ]
        changes.sort(key=lambda change: _priority(change, language))
        return changes


def _mirrored_rows(rows: Sequence[Row]) -> list[Row]:
    equal = Change.EQUAL
    return [Row(j, i, change if change is equal else change.mirrored) for i, j, change in rows]


def _left_first(rows: Sequence[Row]) -> list[Row]:
    """Put the left side's rows first in every run of rows that have one side only."""
    ordered: list[Row] = []
    rights: list[Row] = []
    for row in rows:
        if row[0] is None:
            rights.append(row)
            continue
        if rights and row[1] is not None:
            ordered += rights
            rights = []
        ordered.append(row)
    return ordered + rights


# The changes that are counted, in the order of a summary, and their nouns. Layouts are named instead.
_NOUNS = {
    Change.SHAPE: "shape",
    Change.CONSTANT: "constant",
    Change.ATTRIBUTE: "attribute",
    Change.TYPE: "type",
    Change.OPERANDS: "operand",
    Change.TEXT: "other line",
}


def describe_layout(change: LayoutChange) -> str:
    """Describe a layout change field by field: "#blocked sizePerThread [1, 4] -> [1, 8], order ..."."""
    if change.right is None:
        return f"{change.left.alias} only left" if change.left else ""
    if change.left is None:
        return f"{change.right.alias} only right"
    ours, theirs = change.left.alias, change.right.alias
    name = ours if ours == theirs else f"{ours} -> {theirs}"
    fields = ", ".join(f"{field} {was or 'none'} -> {now or 'none'}" for field, was, now in change.fields)
    return f"{name} {fields}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@frozen
class LineCountChange:
    """A source line of the kernel (from 1) with different numbers of instructions of the class `opcode`.

    `file` and `line` (from 1) are B's. `removed`: B does not have the line, and they are A's. `left` and
    `right` are the numbers of instructions in A and in B.
    """

    file: str
    line: int
    opcode: str
    left: int
    right: int
    removed: bool = False


def _class_counts(document: Document, language: Language) -> Counter[tuple[str, int, bool, str]]:
    counts: Counter[tuple[str, int, bool, str]] = Counter()
    classes: dict[str, str] = {}
    for operation in document.operations:
        if operation.location is None or operation.opcode == OPAQUE:
            continue
        opcode = operation.opcode
        if opcode not in classes:
            classes[opcode] = language.instruction_class(opcode)
        location = operation.location.outermost
        counts[location.file, location.line, location.removed, classes[opcode]] += 1
    return counts


def _priority(change: LineCountChange, language: Language) -> tuple[bool, int, str, int, str]:
    heavy = language.heavy.match(change.opcode) is not None
    return not heavy, -abs(change.right - change.left), change.file, change.line, change.opcode
