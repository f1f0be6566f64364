"""The rows of a stage's diff, cut into what is shown: changed rows with context, the rest folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from irscope.diff.rows import Change, Row

Span = tuple[int, int]

KINDS = tuple(Change)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Rows that stand together; `folded` counts the rows left out before them."""

    rows: Sequence[Row]
    folded: int


def hunks(rows: Sequence[Row], context: int, tells: Callable[[Row], object]) -> Iterator[Hunk]:
    """The rows that `tells` picks with up to `context` others before and behind, in order.

    A last hunk without rows tells how many are folded at the end.
    """
    shown = 0
    for start, end in _stretches(rows, context, tells):
        yield Hunk(rows[start:end], start - shown)
        shown = end
    if shown < len(rows):
        yield Hunk((), len(rows) - shown)


def kinds_of(change: Change) -> list[str]:
    """The words for a change: "shape", "layout", ..."""
    return [str(kind.name).lower() for kind in KINDS if kind in change]


def counted_kinds(rows: Sequence[Row]) -> str:
    """How many rows carry each kind of change: "3 shape, 1 layout"."""
    counts = Counter(kind for row in rows for kind in kinds_of(row.change))
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common())


def place(rows: Sequence[Row], left: bool) -> str:
    """A hunk's lines on one side as unified diffs write them: first line, number of lines."""
    numbers = [number for row in rows if (number := row.left if left else row.right) is not None]
    return f"{numbers[0] + 1},{len(numbers)}" if numbers else "0,0"


def _stretches(rows: Sequence[Row], context: int, tells: Callable[[Row], object]) -> Iterator[Span]:
    """The stretches of rows to show, as (start, end); stretches that touch are one."""
    start = end = -1
    for index, row in enumerate(rows):
        if not tells(row):
            continue
        if start >= 0 and index - context <= end:
            end = min(index + context + 1, len(rows))
            continue
        if start >= 0:
            yield start, end
        start, end = max(0, index - context), min(index + context + 1, len(rows))
    if start >= 0:
        yield start, end
