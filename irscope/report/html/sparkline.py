"""A small line chart as SVG: a step per commit, a mark where the value changes, gaps where it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from irscope.report.html.markup import Html, element
from irscope.workspace import FactValue

_WIDTH, _HEIGHT, _MARGIN = 280, 40, 5
# More marks than pixels are of no use; the lines stay.
_MAX_MARKS = 120


def sparkline(
    values: Sequence[FactValue], labels: Sequence[str], words: str, form: Callable[[FactValue], str]
) -> Html:
    """The chart of values in order; `labels` name their places, `words` describe it to screen readers."""
    numbers = [value if isinstance(value, int | float) else None for value in values]
    known = [number for number in numbers if number is not None]
    if not known:
        return element("p", "no values", class_="quiet")
    low, high = min(known), max(known)

    def x(index: float) -> float:
        return round(_MARGIN + index * (_WIDTH - 2 * _MARGIN) / max(1, len(numbers) - 1), 1)

    def y(number: float) -> float:
        share = (number - low) / (high - low) if high > low else 0.5
        return round(_HEIGHT - _MARGIN - share * (_HEIGHT - 2 * _MARGIN), 1)

    path = " ".join(_path(numbers, x, y))
    marks = [
        element(
            "circle",
            element("title", f"{labels[index]}: {form(number)}"),
            cx=x(index),
            cy=y(number),
            r=3,
            class_=kind,
        )
        for index, number, kind in _marks(numbers)
    ]
    return element(
        "svg",
        element("path", d=path),
        *marks[-_MAX_MARKS:],
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=words,
        class_="spark",
    )


def _path(
    numbers: Sequence[float | None], x: Callable[[float], float], y: Callable[[float], float]
) -> Iterator[str]:
    """Horizontal steps: the value holds until the commit that changes it."""
    before: float | None = None
    for index, number in enumerate(numbers):
        if number is not None:
            if before is None:
                yield f"M{x(index)},{y(number)}"
            else:
                yield f"H{x(index)}" if number == before else f"H{x(index)}V{y(number)}"
        before = number


def _marks(numbers: Sequence[float | None]) -> Iterator[tuple[int, float, str]]:
    """The first value, each that differs from the last known one, and the last."""
    before: float | None = None
    for index, number in enumerate(numbers):
        if number is None:
            continue
        if before is None or index == len(numbers) - 1 or number != before:
            kind = "same" if before is None or number == before else "rise" if number > before else "fall"
            yield index, number, kind
        before = number
