"""A fact over configs as points and lines, and the scale of its axis: a chart before it is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from irscope.facts.fact import Fact, FactKind, Facts, FactValue, format_fraction, status_of
from irscope.model import Value, Variant, format_value
from irscope.model.records import distinct_values, frozen, frozen_with_dict

FactsById = Mapping[int, Facts]
# The value of a variant on an axis.
Axis = Callable[[Variant], Value]

# No real fact is as large; captures are untrusted.
_MAX_NUMBER = 1e18
# The axis with one tick per variant, the best first.
EACH = "variant"
_TRITON = "triton"


@frozen
class Point:
    """A variant in a chart.

    `tick` is the index of its tick on the axis, `y` the fact's number (None: unknown). `trouble` is
    "failed", "cannot launch" or "".
    """

    variant: Variant
    tick: int
    y: float | None
    trouble: str

    @property
    def counts(self) -> bool:
        """Return True if it has a number and the variant can be launched."""
        return self.y is not None and not self.trouble


@frozen
class Series:
    """The points with the same value, as text, of the property that splits the chart.

    `line` joins the best point of each tick: (tick, y), in order.
    """

    value: str
    points: tuple[Point, ...]
    line: tuple[tuple[int, float], ...]


@frozen_with_dict
class Chart:
    """One fact over one axis. `ticks` are the axis' values as text; `split` is "" if nothing is split.

    `crowded`: a series has several points on one tick, because the variants differ in more than the axis
    and the split.
    """

    kind: FactKind
    axis: str
    split: str
    ticks: tuple[str, ...]
    series: tuple[Series, ...]

    @property
    def points(self) -> list[Point]:
        """Return every point from left to right: by tick, then by series, then from low to high."""
        every = [(point, number) for number, series in enumerate(self.series) for point in series.points]
        every.sort(key=lambda item: (item[0].tick, item[1], item[0].y is not None, item[0].y or 0.0))
        return [point for point, _ in every]

    @property
    def crowded(self) -> bool:
        """Return True if a line leaves out points that are candidates."""
        return any(sum(point.counts for point in series.points) > len(series.line) for series in self.series)


def axes(variants: Sequence[Variant]) -> dict[str, Axis]:
    """Return the properties in which `variants` differ, most values first; EACH is the last.

    Triton's version comes second, where views split a chart by it: a series per version.
    """
    values = dict.fromkeys(name for variant in variants for name, _ in variant.config.values)
    every: dict[str, Axis] = {name: _config(name) for name in values}
    every.setdefault("arguments", lambda variant: ", ".join(map(str, variant.specialization)))
    every.setdefault("target", lambda variant: str(variant.target))
    every.setdefault(_TRITON, lambda variant: variant.toolchain.versions.get("triton", "?"))
    every.setdefault("ptxas", lambda variant: variant.environment.get("ptxas", "own"))
    rows = [{name: _text(axis(variant)) for name, axis in every.items()} for variant in variants]
    counts = distinct_values(rows)
    names = sorted((name for name in counts if counts[name] > 1), key=lambda name: -counts[name])
    if _TRITON in names and len(names) > 1:
        names.remove(_TRITON)
        names.insert(1, _TRITON)
    return {**{name: every[name] for name in names}, EACH: lambda variant: variant.id}


def chartable_facts(variants: Sequence[Variant], facts: FactsById) -> list[FactKind]:
    """Return the facts that are a number for some of `variants`; those that vary come first."""
    known_facts = [facts[variant.id] for variant in variants if variant.id in facts]
    kinds = dict.fromkeys(fact.kind for variant_facts in known_facts for fact in variant_facts.values())
    numbers = {
        kind: {_number(variant_facts.get(kind.name)) for variant_facts in known_facts} - {None}
        for kind in kinds
    }
    return sorted((kind for kind in kinds if numbers[kind]), key=lambda kind: len(numbers[kind]) == 1)


def chart(variants: Sequence[Variant], facts: FactsById, kind: FactKind, axis: str, split: str = "") -> Chart:
    """Chart `kind` over `axis`, with a series per value of `split`; both are keys of `axes`.

    Ticks are ordered by value; on EACH, by the fact, the best first.
    """
    axis_of = axes(variants)
    numbers = {variant.id: _number(facts.get(variant.id, {}).get(kind.name)) for variant in variants}
    if axis == EACH:
        ordered = sorted(variants, key=lambda v: _rank(numbers[v.id], _trouble(v, facts.get(v.id, {})), kind))
        ticks = [f"#{variant.id}" for variant in ordered]
        tick_index = {variant.id: position for position, variant in enumerate(ordered)}
    else:
        ticks, indices = axis_ticks(variants, axis_of[axis])
        tick_index = {variant.id: index for variant, index in zip(variants, indices, strict=True)}
    groups: dict[str, list[Point]] = {
        value: [] for value in (_in_order(map(axis_of[split], variants)) if split else [""])
    }
    for variant in variants:
        trouble = _trouble(variant, facts.get(variant.id, {}))
        point = Point(variant, tick_index[variant.id], numbers[variant.id], trouble)
        groups[_text(axis_of[split](variant)) if split else ""].append(point)
    series = [Series(value, tuple(points), _line(points, kind)) for value, points in groups.items()]
    return Chart(kind, axis, split, tuple(ticks), tuple(series))


def axis_ticks(variants: Sequence[Variant], axis: Axis) -> tuple[list[str], list[int]]:
    """Return the distinct values on an axis as text, in order, and the index of that of each variant."""
    values = list(map(axis, variants))
    ticks = _in_order(values)
    tick_of = {text: position for position, text in enumerate(ticks)}
    return ticks, [tick_of[_text(value)] for value in values]


def lines_text(variants: Sequence[Variant], axis: str, split: str) -> str:
    """Say in one sentence which variants the lines of charts over `axis` join."""
    same = f" with the same {split}" if split else ""
    if axis == EACH:
        return f"{'A' if split else 'The'} line joins the variants{same}, from best to worst."
    other_axes = [name for name in axes(variants) if name not in (axis, split, EACH)]
    differ = f"; along a line, {', '.join(other_axes)} may differ too" if other_axes else ""
    which = f"best variant{same} that can be launched"
    return f"{'A' if split else 'The'} line joins the {which} at each {axis}{differ}."


def _config(name: str) -> Axis:
    return lambda variant: variant.config.get(name)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else format_value(value)


def _in_order(values: Iterable[Value]) -> list[str]:
    """Return the distinct values as text: numbers by size, then words."""
    ordered = sorted(values, key=lambda v: (0, v, "") if isinstance(v, int | float) else (1, 0, _text(v)))
    return list(dict.fromkeys(map(_text, ordered)))


def plotted(value: FactValue | Value) -> int | float | None:
    """Return the number that charts draw for a value; None if it is not a number or too large."""
    return value if isinstance(value, int | float) and abs(value) < _MAX_NUMBER else None


def _number(fact: Fact | None) -> float | None:
    value = plotted(fact.value) if fact else None
    return None if value is None else float(value)


def _trouble(variant: Variant, facts: Facts) -> str:
    status = status_of(variant, facts)
    return "" if status is None or status.ok else status.kind.value


def _rank(number: float | None, trouble: str, kind: FactKind) -> tuple[bool, bool, float]:
    return number is None, bool(trouble), (number or 0) * (-1 if kind.better == "high" else 1)


def _line(points: Sequence[Point], kind: FactKind) -> tuple[tuple[int, float], ...]:
    """Return the best point of each tick: the highest if high is good, else the lowest."""
    best: dict[int, float] = {}
    choose = max if kind.better == "high" else min
    for point in points:
        if point.y is not None and not point.trouble:
            best[point.tick] = choose(point.y, best.get(point.tick, point.y))
    return tuple(sorted(best.items()))


# Values with a smaller relative difference are equal except for rounding.
_MIN_RELATIVE_SPAN = 1e-9


class AxisScale(NamedTuple):
    """An axis: its lowest and highest value, and the distance between its labels."""

    low: float
    high: float
    step: float

    def label(self, value: float, unit: str) -> str:
        """Return the label of a value: `128`, `16k`, `0.25`, `50%`."""
        if unit == "fraction":
            return format_fraction(value)
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
            if self.high >= size:
                return f"{value / (1e3 if letter == 'k' else size):g}{letter}" if value else "0"
        return f"{value:.{max(0, -math.floor(math.log10(self.step)))}f}"

    def values(self) -> Iterator[float]:
        """Yield the values with a label, from low to high."""
        for number in range(round((self.high - self.low) / self.step) + 1):
            yield self.low + number * self.step


def axis_scale(low: float, high: float, labels: int) -> AxisScale:
    """Return round numbers around [low, high] with at most `labels` steps.

    The scale starts at 0 unless `low` is far above it.
    """
    if 0 <= low < 0.6 * high:
        low = 0.0
    span = high - low
    if span <= _MIN_RELATIVE_SPAN * max(abs(low), abs(high)) or span < _MIN_RELATIVE_SPAN:
        span, labels = max(abs(high), 1.0), 1
    power = 10.0 ** math.floor(math.log10(span / max(labels, 1)))
    step = next(
        step for step in (power * factor for factor in (1, 2, 5, 10, 20)) if span / step <= max(labels, 1)
    )
    first, last = math.floor(low / step) * step, math.ceil(high / step) * step
    return AxisScale(first, max(last, first + step), step)
