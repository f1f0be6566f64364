"""A fact over configs as points and lines: what a chart shows, whoever draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from irscope.facts.fact import Fact, FactKind, status_of
from irscope.model import Value, Variant, format_value

Facts = Mapping[int, Mapping[str, Fact]]
# What a variant has on an axis.
Axis = Callable[[Variant], Value]

# No fact is as large; a capture that says so is not to be believed.
_LARGEST = 1e18
# The axis on which each variant has a place of its own, the best first.
EACH = "variant"


@dataclass(frozen=True, slots=True)
class Point:
    """A variant in a chart.

    `tick` is the index of its place on the axis, `y` the fact's number (None: not known). `trouble` is
    "failed", "cannot launch" or "".
    """

    variant: Variant
    tick: int
    y: float | None
    trouble: str

    @property
    def counts(self) -> bool:
        """Whether it has a number that is to be had."""
        return self.y is not None and not self.trouble


@dataclass(frozen=True, slots=True)
class Series:
    """The points that have one value, as text, of what the chart is split by.

    `line` joins the best point of each tick: (tick, y), in order.
    """

    value: str
    points: tuple[Point, ...]
    line: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Chart:
    """One fact over one axis. `ticks` are the axis' values as text; `split` is "" where nothing is split.

    `crowded`: a series has several points on one tick, as the variants differ in more than the axis and
    the split.
    """

    kind: FactKind
    axis: str
    split: str
    ticks: tuple[str, ...]
    series: tuple[Series, ...]

    @property
    def points(self) -> list[Point]:
        """Every point from left to right: by tick, in a tick by series, in a series from low to high."""
        every = [(point, number) for number, one in enumerate(self.series) for point in one.points]
        every.sort(key=lambda item: (item[0].tick, item[1], item[0].y is not None, item[0].y or 0.0))
        return [point for point, _ in every]

    @property
    def crowded(self) -> bool:
        """Whether a line leaves out points that are candidates."""
        return any(sum(point.counts for point in one.points) > len(one.line) for one in self.series)


def axes(variants: Sequence[Variant]) -> dict[str, Axis]:
    """What `variants` differ in and can be laid out by, the one with the most values first; last, EACH."""
    names = dict.fromkeys(name for variant in variants for name, _ in variant.config.values)
    every: dict[str, Axis] = {name: _config(name) for name in names}
    every.setdefault("arguments", lambda variant: ", ".join(map(str, variant.specialization)))
    every.setdefault("target", lambda variant: str(variant.target))
    every.setdefault("triton", lambda variant: variant.toolchain.versions.get("triton", "?"))
    counts = {name: len({_text(axis(variant)) for variant in variants}) for name, axis in every.items()}
    telling = sorted((name for name in every if counts[name] > 1), key=lambda name: -counts[name])
    return {**{name: every[name] for name in telling}, EACH: lambda variant: variant.id}


def charted(variants: Sequence[Variant], facts: Facts) -> list[FactKind]:
    """The facts that have a number for at least one of `variants`: first those in which they differ."""
    known = [facts[variant.id] for variant in variants if variant.id in facts]
    kinds = dict.fromkeys(fact.kind for own in known for fact in own.values())
    numbers = {kind: {_number(own.get(kind.name)) for own in known} - {None} for kind in kinds}
    return sorted((kind for kind in kinds if numbers[kind]), key=lambda kind: len(numbers[kind]) == 1)


def chart(variants: Sequence[Variant], facts: Facts, kind: FactKind, axis: str, split: str = "") -> Chart:
    """`kind` of each variant over `axis`, a series for each value of `split`; both are keys of `axes`.

    Ticks stand in the order of their values; on EACH, in that of the fact, the best first.
    """
    found = axes(variants)
    numbers = {variant.id: _number(facts.get(variant.id, {}).get(kind.name)) for variant in variants}
    if axis == EACH:
        ordered = sorted(variants, key=lambda v: _rank(numbers[v.id], _trouble(v, facts.get(v.id, {})), kind))
        ticks = [f"#{variant.id}" for variant in ordered]
        places = {variant.id: place for place, variant in enumerate(ordered)}
    else:
        ticks = _in_order(map(found[axis], variants))
        tick_of = {text: place for place, text in enumerate(ticks)}
        places = {variant.id: tick_of[_text(found[axis](variant))] for variant in variants}
    groups: dict[str, list[Point]] = {
        value: [] for value in (_in_order(map(found[split], variants)) if split else [""])
    }
    for variant in variants:
        trouble = _trouble(variant, facts.get(variant.id, {}))
        point = Point(variant, places[variant.id], numbers[variant.id], trouble)
        groups[_text(found[split](variant)) if split else ""].append(point)
    series = [Series(value, tuple(points), _line(points, kind)) for value, points in groups.items()]
    return Chart(kind, axis, split, tuple(ticks), tuple(series))


def _config(name: str) -> Axis:
    return lambda variant: variant.config.get(name)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else format_value(value)


def _in_order(values: Iterable[Value]) -> list[str]:
    """The values as text, each once: numbers by size, then words."""
    ordered = sorted(values, key=lambda v: (0, v, "") if isinstance(v, int | float) else (1, 0, _text(v)))
    return list(dict.fromkeys(map(_text, ordered)))


def _number(fact: Fact | None) -> float | None:
    """The fact as a number that can be drawn."""
    value = fact.value if fact else None
    if isinstance(value, int | float) and abs(value) < _LARGEST:
        return float(value)
    return None


def _trouble(variant: Variant, facts: Mapping[str, Fact]) -> str:
    status = status_of(variant, facts)
    return "" if status is None or status.ok else status.kind.value


def _rank(number: float | None, trouble: str, kind: FactKind) -> tuple[bool, bool, float]:
    return number is None, bool(trouble), (number or 0) * (-1 if kind.better == "high" else 1)


def _line(points: Sequence[Point], kind: FactKind) -> tuple[tuple[int, float], ...]:
    """The best of each tick: the highest where high is good, else the lowest."""
    best: dict[int, float] = {}
    choose = max if kind.better == "high" else min
    for point in points:
        if point.y is not None and not point.trouble:
            best[point.tick] = choose(point.y, best.get(point.tick, point.y))
    return tuple(sorted(best.items()))
