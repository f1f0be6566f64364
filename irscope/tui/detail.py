"""How much of what differs a page tells: only real changes, shapes too, or every difference of the texts."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from irscope.diff.rows import Change, Row
from irscope.tui.page import PageSide

# What follows from a block size: a real change has more than this.
_FOLLOWS = Change.SHAPE | Change.CONSTANT


class Detail(enum.Enum):
    """What counts as a change. The value is what the status line says."""

    REAL = "real changes"
    SHAPES = "shapes too"
    RAW = "raw text"

    @property
    def next(self) -> Detail:
        """The one after this, the first after the last."""
        every = list(Detail)
        return every[(every.index(self) + 1) % len(every)]


def detailed(rows: Sequence[Row], left: PageSide, right: PageSide, detail: Detail) -> Sequence[Row]:
    """`rows` of a diff with what does not count told as equal, and in raw text what differs as changed."""
    if detail is Detail.SHAPES:
        return rows
    if detail is Detail.RAW:
        return [_raw(row, left, right) for row in rows]
    quiet = {change for change in {row.change for row in rows} if not change & ~_FOLLOWS}
    return [Row(row.left, row.right, Change.EQUAL) if row.change in quiet else row for row in rows]


def _raw(row: Row, left: PageSide, right: PageSide) -> Row:
    if row.left is None or row.right is None:
        return Row(row.left, row.right, Change.REMOVED if row.right is None else Change.ADDED)
    same = left.lines[row.left] == right.lines[row.right]  # an alias reads the same whatever it stands for
    return Row(row.left, row.right, Change.EQUAL if same else row.change or Change.TEXT)
