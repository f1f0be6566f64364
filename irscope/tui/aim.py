"""The horizontal scroll offset that brings the changed token of a row on screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from irscope.tui import paint
from irscope.workspace import Row, content_span, first_change

# Characters to show before and after the token.
_CONTEXT = 6
# Cells at the edges that ellipses take.
_EDGE = 1


class Target(NamedTuple):
    """A span to show of a text of `length` characters, in a column of `room` cells."""

    start: int
    end: int
    length: int
    room: int

    def visible(self, x: int) -> bool:
        """Whether the span is on screen if `x` is the first character; its start if it is too long."""
        first = x + (_EDGE if x else 0)
        last = x + self.room - (_EDGE if self.length > x + self.room else 0)
        if self.end - self.start >= self.room - 2 * _EDGE:
            return first <= self.start < x + self.room // 2
        return first <= self.start and self.end <= last

    @property
    def least(self) -> int:
        """The least x at which the span and what follows it are on screen."""
        end = min(self.end + _CONTEXT + _EDGE, self.length)
        return max(min(end - self.room, self.start - _CONTEXT), 0)


def aimed(targets: list[Target], x: int = 0) -> int:
    """The first character to show: `x` if all targets are visible there, else as little as possible."""
    if all(target.visible(x) for target in targets):
        return x
    least = max(target.least for target in targets)
    most = min(max(target.start - _EDGE, 0) for target in targets)
    return max(min(least, most), 0)


def change_targets(row: Row, texts: Sequence[str], rooms: Sequence[int], raw: bool) -> list[Target]:
    """The spans to show of a row that differs: the first change, or all of a line that has no match."""
    if not row.change:
        return []
    if row.left is None or row.right is None:
        right = row.left is None
        start, end = content_span(texts[right])
        # A whole line can be read from its start unless that is far to the right.
        return [Target(start, end, len(texts[right]), rooms[right])] if start >= rooms[right] // 2 else []
    change = first_change(texts[0], texts[1], raw)
    return [Target(*change[side], len(texts[side]), rooms[side]) for side in range(2)] if change else []


def match_targets(query: str, texts: Sequence[str], rooms: Sequence[int]) -> list[Target]:
    """The first match of a search in each text that has one."""
    found = [paint.occurrences(text, query, 0, len(text))[:1] for text in texts]
    return [
        Target(*spans[0], len(text), room)
        for spans, text, room in zip(found, texts, rooms, strict=True)
        if spans
    ]
