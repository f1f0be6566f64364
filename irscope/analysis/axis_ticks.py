"""The scale of an axis: round numbers around what is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

# Values that differ by less than this share of them are one value with noise in its last digits.
_SAME = 1e-9


class Scale(NamedTuple):
    """An axis: its lowest and highest value, and the distance of its labels."""

    low: float
    high: float
    step: float

    def label(self, value: float, unit: str) -> str:
        """A value as the axis shows it: `128`, `16k`, `0.25`, `50%`."""
        if unit == "fraction":
            return f"{value:.0%}"
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
            if self.high >= size:
                return f"{value / (1e3 if letter == 'k' else size):g}{letter}" if value else "0"
        return f"{value:.{max(0, -math.floor(math.log10(self.step)))}f}"

    def values(self) -> Iterator[float]:
        """The values that have a label, from low to high."""
        for number in range(round((self.high - self.low) / self.step) + 1):
            yield self.low + number * self.step


def scale(low: float, high: float, labels: int) -> Scale:
    """Round numbers around [low, high], with at most `labels` steps; from 0 on unless all is far above it."""
    if 0 <= low < 0.6 * high:
        low = 0.0
    span = high - low
    if span <= _SAME * max(abs(low), abs(high)) or span < _SAME:
        span, labels = max(abs(high), 1.0), 1
    power = 10.0 ** math.floor(math.log10(span / max(labels, 1)))
    step = next(
        step for step in (power * factor for factor in (1, 2, 5, 10, 20)) if span / step <= max(labels, 1)
    )
    first, last = math.floor(low / step) * step, math.ceil(high / step) * step
    return Scale(first, max(last, first + step), step)
