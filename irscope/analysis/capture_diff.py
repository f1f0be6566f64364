"""Two captures compared: variants matched, what got worse, what is the same program, what came and went."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from irscope.analysis.duplicates import are_duplicates
from irscope.analysis.finding import effect
from irscope.facts.fact import Fact, FactKind, FactValue
from irscope.model import Kernel, Status, Variant

Facts = Mapping[int, Mapping[str, Fact]]

# The facts that can get worse, and how much a doubling matters; a variant that no longer compiles or
# launches comes before them all.
IMPORTANCE = {
    "stack": 20.0,
    "load_width": 10.0,
    "store_width": 8.0,
    "occupancy": 8.0,
    "registers": 3.0,
    "shared": 2.0,
    "conversions": 2.0,
    "instructions": 1.5,
}
# Fewer more or less instructions than this fraction are no news.
_FEW_INSTRUCTIONS = 0.05
_LOST = {"failure": 1100.0, "launchable": 1000.0}
# A clock is no exact measure: this much longer, in seconds and as a factor, is worth a word.
_SLOWER_SECONDS, _SLOWER_FACTOR = 0.5, 1.5
_SECONDS_IMPORTANCE = 1.0


@dataclass(frozen=True, slots=True)
class FactChange:
    """A fact that differs. `name` is the fact's or "failure"; `weight` ranks it."""

    name: str
    a: FactValue
    b: FactValue
    worse: bool
    weight: float


@dataclass(frozen=True, slots=True)
class Pair:
    """A variant of OLD and its counterpart in NEW. `identical`: both are the same program.

    `stacks` is the stack of both in bytes a thread, without which registers mislead. `changes` are the
    facts that got better or worse, most important first.
    """

    a: Variant
    b: Variant
    identical: bool
    stacks: tuple[FactValue, FactValue]
    changes: tuple[FactChange, ...]

    @property
    def worse(self) -> tuple[FactChange, ...]:
        """What got worse."""
        return tuple(change for change in self.changes if change.worse)

    @property
    def better(self) -> tuple[FactChange, ...]:
        """What got better."""
        return tuple(change for change in self.changes if not change.worse)

    @property
    def weight(self) -> float:
        """How bad it is, of what got worse alone."""
        return sum(change.weight for change in self.worse)


@dataclass(frozen=True)
class CaptureDiff:
    """Two captures. `pairs` stand worst first, then in NEW's order.

    `by_target`: targets were matched too. `renamed` maps kernels of OLD to their names in NEW.
    `only_a` and `only_b` are the variants without a counterpart. `seconds` are the compile times of the
    `timed` pairs of which both are known.
    """

    pairs: tuple[Pair, ...]
    by_target: bool
    renamed: Mapping[str, str]
    only_a: tuple[Variant, ...]
    only_b: tuple[Variant, ...]
    seconds: tuple[float, float]
    timed: int


def compare_captures(
    a: Sequence[Variant], b: Sequence[Variant], facts_a: Facts, facts_b: Facts
) -> CaptureDiff:
    """Matches the variants of OLD (`a`) and NEW (`b`) and says how each moved; facts are by variant id.

    Variants match by kernel, specialization and config, and by target unless the captures have none in
    common.
    """
    by_target = bool({variant.target for variant in a} & {variant.target for variant in b})
    renamed = _renamed(a, b, facts_a, facts_b)
    waiting: dict[Hashable, list[Variant]] = defaultdict(list)
    for variant in a:
        name = renamed.get(variant.kernel.name, variant.kernel.name)
        waiting[_identity(variant, name, by_target)].append(variant)
    pairs, only_b = [], []
    for variant in b:
        fitting = waiting[_identity(variant, variant.kernel.name, by_target)]
        if fitting:
            old = fitting.pop(0)
            pairs.append(_pair(old, variant, facts_a.get(old.id, {}), facts_b.get(variant.id, {})))
        else:
            only_b.append(variant)
    timed = [pair for pair in pairs if pair.a.seconds and pair.b.seconds]
    return CaptureDiff(
        pairs=tuple(sorted(pairs, key=lambda pair: -pair.weight)),
        by_target=by_target,
        renamed=renamed,
        only_a=tuple(sorted((v for left in waiting.values() for v in left), key=lambda v: v.id)),
        only_b=tuple(only_b),
        seconds=(sum(_seconds(pair.a) for pair in timed), sum(_seconds(pair.b) for pair in timed)),
        timed=len(timed),
    )


def _identity(variant: Variant, kernel: str, by_target: bool) -> Hashable:
    """What a variant and its counterpart have in common. Values are compared as text: True is not 1."""
    config = frozenset((name, repr(value)) for name, value in variant.config.values)
    arguments = frozenset(map(repr, variant.specialization))
    return kernel, arguments, config, variant.target if by_target else None


def _renamed(a: Sequence[Variant], b: Sequence[Variant], facts_a: Facts, facts_b: Facts) -> dict[str, str]:
    """Kernels of OLD that NEW has under another name: the same source but for the name, or machine code."""
    olds, news = _by_kernel(a), _by_kernel(b)
    renamed: dict[str, str] = {}
    free = [name for name in news if name not in olds]
    for old, variants in olds.items():
        if old in news:
            continue
        codes = _codes(variants, facts_a)
        for new in free:
            same_source = _nameless(variants[0].kernel) == _nameless(news[new][0].kernel)
            if (variants[0].kernel.source.text and same_source) or codes & _codes(news[new], facts_b):
                renamed[old] = new
                free.remove(new)
                break
    return renamed


def _by_kernel(variants: Iterable[Variant]) -> dict[str, list[Variant]]:
    found: dict[str, list[Variant]] = {}
    for variant in variants:
        found.setdefault(variant.kernel.name, []).append(variant)
    return found


def _nameless(kernel: Kernel) -> str:
    return re.sub(rf"\b{re.escape(kernel.source.name)}\b", "_", kernel.source.text)


def _codes(variants: Iterable[Variant], facts: Facts) -> set[FactValue]:
    return {facts[v.id]["code"].value for v in variants if "code" in facts.get(v.id, {})} - {None}


def _pair(a: Variant, b: Variant, facts_a: Mapping[str, Fact], facts_b: Mapping[str, Fact]) -> Pair:
    # Another name is no other program.
    identical = are_duplicates(a, replace(b, kernel=a.kernel), facts_a, facts_b)
    changes = [*_lost(a, b, facts_a, facts_b), *_seconds_change(a, b)]
    if not identical:
        changes += _moved(facts_a, facts_b)
    stacks = _value(facts_a, "stack"), _value(facts_b, "stack")
    return Pair(a, b, identical, stacks, tuple(sorted(changes, key=lambda change: -change.weight)))


def _lost(
    a: Variant, b: Variant, facts_a: Mapping[str, Fact], facts_b: Mapping[str, Fact]
) -> Iterable[FactChange]:
    """Whether one of them does not compile or cannot launch where the other can."""
    was, now = (variant.failure.summary if variant.failure else None for variant in (a, b))
    if (was is None) != (now is None):
        yield FactChange("failure", was, now, now is not None, _LOST["failure"])
        return
    can, could = _value(facts_b, "launchable"), _value(facts_a, "launchable")
    if isinstance(could, Status) and isinstance(can, Status) and could.ok != can.ok:
        yield FactChange("launchable", could, can, not can.ok, _LOST["launchable"])


def _value(facts: Mapping[str, Fact], name: str) -> FactValue:
    return facts[name].value if name in facts else None


def _moved(facts_a: Mapping[str, Fact], facts_b: Mapping[str, Fact]) -> Iterable[FactChange]:
    for name, importance in IMPORTANCE.items():
        a, b = _value(facts_a, name), _value(facts_b, name)
        # Where there is no load at all there is no width to compare.
        absent = name.endswith("_width") and 0 in (a, b)
        if not isinstance(a, int | float) or not isinstance(b, int | float) or a == b or absent:
            continue
        if name == "instructions" and abs(b - a) < _FEW_INSTRUCTIONS * a:
            continue
        scale = 64 if name == "occupancy" else 1
        weight = importance * effect(a * scale, b * scale)
        yield FactChange(name, a, b, worse=_worse(facts_a[name].kind)(a, b), weight=weight)


def _worse(kind: FactKind) -> Callable[[float, float], bool]:
    return (lambda a, b: b < a) if kind.better == "high" else (lambda a, b: b > a)


def _seconds_change(a: Variant, b: Variant) -> Iterable[FactChange]:
    was, now = _seconds(a), _seconds(b)
    less, more = min(was, now), max(was, now)
    if less > 0 and more - less >= _SLOWER_SECONDS and more / less >= _SLOWER_FACTOR:
        weight = _SECONDS_IMPORTANCE * effect(was * 1000, now * 1000)
        yield FactChange("seconds", was, now, worse=now > was, weight=weight)


def _seconds(variant: Variant) -> float:
    return sum(variant.seconds.values())
