"""Where a text has to be scrolled to horizontally so that the changed token of a row is on screen."""

from __future__ import annotations

from typing import NamedTuple

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
