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
        return [_raw(row, left, right) for row in rows]
    quiet = {change for change in {row.change for row in rows} if not change & ~_FROM_SHAPES}
    return [Row(row.left, row.right, Change.EQUAL) if row.change in quiet else row for row in rows]


def differs_materially(diff: StageDiff) -> bool:
    """Whether a stage of the compiler differs in more than shapes and constants."""
    return diff.structural and not is_source_stage(diff.stage) and not diff.constants_only


def _raw(row: Row, left: Sequence[str], right: Sequence[str]) -> Row:
    if row.left is None or row.right is None:
        return Row(row.left, row.right, Change.REMOVED if row.right is None else Change.ADDED)
    # An alias has the same text whatever layout it stands for.
    same = left[row.left] == right[row.right]
    return Row(row.left, row.right, Change.EQUAL if same else row.change or Change.TEXT)
