"""What a diff is: rows of aligned lines with classified changes, and what a stage's rows add up to."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from irscope.languages.document import Document, Layout


class Change(enum.Flag):
    """How the two sides of a row differ; a row can carry several. EQUAL is no flag at all.

    SHAPE: a dimension of a tensor or vector type. LAYOUT: a layout's kind or fields. CONSTANT: a
    literal value. ATTRIBUTE: another attribute or modifier of the same operation. TYPE: an element
    type or kind of type. REWIRED: an operand comes from an operation that is not the counterpart.
    ADDED, REMOVED: the operation has no counterpart. TEXT: lines that hold no operation differ.
    """

    EQUAL = 0
    SHAPE = enum.auto()
    LAYOUT = enum.auto()
    CONSTANT = enum.auto()
    ATTRIBUTE = enum.auto()
    TYPE = enum.auto()
    REWIRED = enum.auto()
    ADDED = enum.auto()
    REMOVED = enum.auto()
    TEXT = enum.auto()

    @property
    def structural(self) -> bool:
        """Whether this is a real change: more than shapes, constants, and lines outside of operations."""
        return bool(self & ~(Change.SHAPE | Change.CONSTANT | Change.TEXT))

    @property
    def mark(self) -> str:
        """One character for the gutter, so that a change shows without colour: + - ~ or a blank."""
        if self & Change.ADDED:
            return "+"
        if self & Change.REMOVED:
            return "-"
        return "~" if self else " "


@dataclass(frozen=True, slots=True)
class Row:
    """Two aligned lines, by their index from 0; None where that side has no counterpart.

    Rows go down both texts in order and hold every line of both exactly once.
    """

    left: int | None
    right: int | None
    change: Change


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """A layout that became another: matched by the values that carry it, not by alias.

    `fields` are (name, left text, right text) of the parameters that differ; `uses` counts the aligned
    operations whose types carry the pair. `left` or `right` is None where only one side has it.
    """

    left: Layout | None
    right: Layout | None
    fields: tuple[tuple[str, str, str], ...]
    uses: int


@dataclass(frozen=True)
class StageDiff:
    """The diff of one stage of two variants. `rows` is a sequence so that views need not copy it."""

    stage: str
    left: Document
    right: Document
    rows: Sequence[Row]
    layouts: tuple[LayoutChange, ...]
    counts: dict[Change, int]

    @property
    def equal(self) -> bool:
        """Whether nothing but names, locations and the order of aliases differs."""
        return not any(self.counts.values()) and not self.layouts

    @property
    def structural(self) -> bool:
        """Whether the stages differ in more than shapes and the constants that follow from them."""
        quiet = Change.SHAPE | Change.CONSTANT | Change.TEXT
        return bool(self.layouts) or any(n for kind, n in self.counts.items() if not kind & quiet)
