"""How much of a diff to show: only real changes, shapes too, or every difference between the texts."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from irscope.backends import is_source_stage
from irscope.diff.rows import Change, Row, StageDiff

# Differences that follow from a block size.
_FROM_SHAPES = Change.SHAPE | Change.CONSTANT


class Detail(enum.Enum):
    """The differences that count as changes; the value is the name."""

    REAL = "real changes"
    SHAPES = "shapes too"
    RAW = "raw text"

    @property
    def next(self) -> Detail:
        """The next level; the first after the last."""
        every = list(Detail)
        return every[(every.index(self) + 1) % len(every)]


def rows_at(detail: Detail, rows: Sequence[Row], left: Sequence[str], right: Sequence[str]) -> Sequence[Row]:
    """The rows of a diff; changes that do not count become equal. `left` and `right` are the lines."""
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
    """Whether a stage of the compiler differs in more than shapes and constants."""
    return diff.structural and not is_source_stage(diff.stage) and not diff.constants_only


def _raw(row: Row, left: Sequence[str], right: Sequence[str]) -> Row:
    if row.left is None or row.right is None:
        change = Change.REMOVED if row.right is None else Change.ADDED
    elif left[row.left] == right[row.right]:
        change = Change.EQUAL  # an alias has the same text whatever layout it names
    else:
        change = row.change or Change.TEXT
    return row if change is row.change else Row(row.left, row.right, change)
