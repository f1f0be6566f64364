"""The values of a column that stand out: the highest and the lowest, where few variants have them."""

from __future__ import annotations

from collections import Counter

# A value that more than this share of the variants has does not stand out.
_FEW = 4


class Heatmap:
    """The numbers of one column, as they come in. `better` is "low", "high" or "" as of the fact."""

    def __init__(self, better: str) -> None:
        self._better = better
        self._counts: Counter[float] = Counter()
        self._low = self._high = 0.0

    def add(self, value: float) -> None:
        """One more variant has `value`."""
        if not self._counts:
            self._low = self._high = value
        self._counts[value] += 1
        self._low, self._high = min(self._low, value), max(self._high, value)

    def mark(self, value: float) -> tuple[str, str]:
        """The sign of a value and its style class: highest or lowest, good or bad; "" for neither."""
        few = self._counts[value] <= max(1, self._counts.total() // _FEW)
        if not self._better or self._low == self._high or not few:
            return "", ""
        if value == self._high:
            return "▲", "heat--good" if self._better == "high" else "heat--bad"
        if value == self._low:
            return "▼", "heat--good" if self._better == "low" else "heat--bad"
        return "", ""
