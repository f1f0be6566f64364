"""Rows of two texts in which lines are all there is: a kernel's Python before and after an edit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from irscope.diff.align import Block, common_blocks
from irscope.diff.rows import Change, Row


def text_rows(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """Equal lines side by side; between them what was changed, line by line, then what one has more of."""
    rows: list[Row] = []
    at_left, at_right = 0, 0
    for block in (*common_blocks(left, right), Block(len(left), len(right), 0)):
        rows += _changed(range(at_left, block.left), range(at_right, block.right))
        rows += [Row(block.left + n, block.right + n, Change.EQUAL) for n in range(block.size)]
        at_left, at_right = block.left + block.size, block.right + block.size
    return rows


def _changed(left: range, right: range) -> list[Row]:
    def change(i: int | None, j: int | None) -> Change:
        return Change.REMOVED if j is None else Change.ADDED if i is None else Change.TEXT

    return [Row(i, j, change(i, j)) for i, j in zip_longest(left, right)]
