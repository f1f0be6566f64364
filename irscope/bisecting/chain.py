"""Locates a change of a value in a chain of steps, from the measurements of mixed builds.

A chain goes from a kernel's source to its machine code. Cutting it at a stage, and building what is above the
cut with one toolchain and what is below with the other, gives one number per cut and direction:

    cut at            source   ttir   ttgir   llir   ptx   cubin
    good above, bad below  88     88      88      5     5       5     the good LLIR is enough to have 5
    bad above, good below   5      5       5     88    88      88     the bad LLIR is enough to have 88

Both rows change between ttgir and llir: that step is at fault. If they change in different places, the steps
only do harm together, and no single one is at fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

# A step is at fault if it accounts for this share of the change; 1 is all of it.
_MOST_OF_IT = 2 / 3


@dataclass(frozen=True, slots=True)
class Span:
    """The steps between two cuts (indices, `first` < `last`) in which `share` of the change happens."""

    first: int
    last: int
    share: float


@dataclass(frozen=True, slots=True)
class Located:
    """The span of steps in which both directions say that the value changes.

    `span` is None if nothing can be said: `reason` says why. It covers several steps if cuts between them
    could not be built.
    """

    span: Span | None
    reason: str = ""


def largest_change(badness: Sequence[float | None]) -> Span | None:
    """The neighboring known cuts between which most of the change happens; None if no pair has most of it.

    The first and the last value are known, and one of them is 0, the other 1.
    """
    known = [index for index, value in enumerate(badness) if value is not None]
    rising = (badness[known[-1]] or 0.0) > (badness[known[0]] or 0.0)
    spans = [
        Span(i, j, ((badness[j] or 0.0) - (badness[i] or 0.0)) * (1 if rising else -1))
        for i, j in pairwise(known)
    ]
    best = max(spans, key=lambda span: span.share, default=None)
    return best if best is not None and best.share >= _MOST_OF_IT else None


def locate(forward: Sequence[float | None], reverse: Sequence[float | None], names: Sequence[str]) -> Located:
    """Locates the change of both directions' badness; `names` are those of the steps, one less than cuts."""
    spans = [largest_change(forward), largest_change(reverse)]
    a, b = spans
    if a is None or b is None:
        shares = " and ".join(
            f"{way}: {contributions(values, names)}"
            for way, values, span in (("good to bad", forward, a), ("bad to good", reverse, b))
            if span is None
        )
        return Located(None, f"no single step accounts for most of the change ({shares})")
    first, last = max(a.first, b.first), min(a.last, b.last)
    if first >= last:
        places = [" or ".join(names[span.first : span.last]) for span in (a, b)]
        return Located(
            None,
            f"the two directions disagree: good to bad changes in {places[0]}, bad to good in {places[1]}, "
            "so it takes both to make it worse",
        )
    return Located(Span(first, last, min(a.share, b.share)))


def contributions(badness: Sequence[float | None], names: Sequence[str]) -> str:
    """The share of each step in words: "middle 60%, ptxas 40%"."""
    known = [index for index, value in enumerate(badness) if value is not None]
    parts = []
    for i, j in pairwise(known):
        share = abs((badness[j] or 0.0) - (badness[i] or 0.0))
        if round(share * 100):
            parts.append(f"{' + '.join(names[i:j])} {share:.0%}")
    return ", ".join(parts) or "nothing"
