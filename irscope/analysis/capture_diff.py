"""Comparing two captures: matching variants, and what got better or worse for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.capture_matching import match_variants
from irscope.analysis.duplicates import are_duplicates
from irscope.analysis.findings.severity import effect
from irscope.analysis.hardware_use import hardware_use_changes
from irscope.facts.fact import Facts, FactValue, number_of, value_of
from irscope.facts.registry import (
    CODE,
    FACT_KINDS,
    INSTRUCTIONS,
    LAUNCHABLE,
    LOAD_WIDTH,
    MS,
    OCCUPANCY,
    SECONDS,
    STACK,
    STORE_WIDTH,
)
from irscope.facts.spills import IMPROVED_BY_SPILLS, spills
from irscope.model import Kernel, Status, Variant
from irscope.model.frozen_value import FrozenValue

FactsById = Mapping[int, Facts]

# The facts that can get better or worse. Times are not among them: those of the autotuner may be for other
# problems, and compile times depend on the load of the machine.
_COMPARED = tuple(kind for kind in FACT_KINDS if kind.weight and kind.better and kind not in (MS, SECONDS))
# A smaller relative change of the number of instructions is not reported.
_MIN_INSTRUCTION_CHANGE = 0.05
# A variant that no longer compiles or launches comes before everything else.
_FAILURE_WEIGHT, _LAUNCH_WEIGHT = 1100.0, 1000.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FactChange(FrozenValue):
    """A fact that differs. `name` is the name of the fact or "failure"; `weight` ranks the change."""

    name: str
    a: FactValue
    b: FactValue
    worse: bool
    weight: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatchedVariants(FrozenValue):
    """A variant of OLD and its counterpart in NEW.

    `identical`: they are duplicates. `stacks` are the stacks of both in bytes per thread, because
    registers mislead without them. `changes` are the facts that got better or worse, most important first.
    """

    a: Variant
    b: Variant
    identical: bool
    stacks: tuple[FactValue, FactValue]
    changes: tuple[FactChange, ...]

    @property
    def worse(self) -> tuple[FactChange, ...]:
        """The facts that got worse."""
        return tuple(change for change in self.changes if change.worse)

    @property
    def better(self) -> tuple[FactChange, ...]:
        """The facts that got better."""
        return tuple(change for change in self.changes if not change.worse)

    @property
    def weight(self) -> float:
        """The size of the regression; improvements do not count."""
        return sum(change.weight for change in self.worse)


@dataclass(frozen=True, eq=False, repr=False)
class CaptureDiff(FrozenValue):
    """The difference of two captures. `pairs` are sorted worst first, then in NEW's order.

    `by_target`: variants only match if their targets do. `renamed` maps kernels of OLD to their names in
    NEW. `only_a` and `only_b` are the variants without a counterpart. `seconds` are the total compile
    times of the `timed` pairs with two known times.
    """

    pairs: tuple[MatchedVariants, ...]
    by_target: bool
    renamed: Mapping[str, str]
    only_a: tuple[Variant, ...]
    only_b: tuple[Variant, ...]
    seconds: tuple[float, float]
    timed: int


def compare_captures(
    a: Sequence[Variant], b: Sequence[Variant], facts_a: FactsById, facts_b: FactsById
) -> CaptureDiff:
    """Matches the variants of OLD (`a`) and NEW (`b`) and compares each pair; facts by variant id.

    Variants match by kernel, specialization and config, and by target unless the captures have none in
    common.
    """
    by_target = bool({variant.target for variant in a} & {variant.target for variant in b})
    renamed = _renamed(a, b, facts_a, facts_b)
    matched, only_a, only_b = match_variants(a, b, renamed, by_target)
    pairs = [compare_pair(old, new, facts_a.get(old.id, {}), facts_b.get(new.id, {})) for old, new in matched]
    timed = _timed(pairs)
    return CaptureDiff(
        pairs=tuple(sorted(pairs, key=lambda pair: -pair.weight)),
        by_target=by_target,
        renamed=renamed,
        only_a=tuple(sorted(only_a, key=lambda variant: variant.id)),
        only_b=tuple(only_b),
        seconds=(sum(old for old, _ in timed), sum(new for _, new in timed)),
        timed=len(timed),
    )


def _renamed(
    a: Sequence[Variant], b: Sequence[Variant], facts_a: FactsById, facts_b: FactsById
) -> dict[str, str]:
    """Kernels that NEW has under another name: with the same source except for the name, or the same code."""
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


def _codes(variants: Iterable[Variant], facts: FactsById) -> set[FactValue]:
    return {value_of(facts.get(variant.id, {}), CODE) for variant in variants} - {None}


def compare_pair(a: Variant, b: Variant, facts_a: Facts, facts_b: Facts) -> MatchedVariants:
    """A variant and its counterpart, with the facts that got better or worse."""
    identical = are_duplicates(a, b, facts_a, facts_b)
    changes = [*_lost(a, b, facts_a, facts_b)]
    if not identical:
        changes += _moved(facts_a, facts_b)
        if a.target == b.target:
            changes += _hardware_use(facts_a, facts_b)
    stacks = value_of(facts_a, STACK), value_of(facts_b, STACK)
    return MatchedVariants(a, b, identical, stacks, tuple(sorted(changes, key=lambda change: -change.weight)))


def _lost(a: Variant, b: Variant, facts_a: Facts, facts_b: Facts) -> Iterable[FactChange]:
    """A change if only one of the two compiles or can be launched."""
    was, now = (variant.failure.summary if variant.failure else None for variant in (a, b))
    if (was is None) != (now is None):
        yield FactChange("failure", was, now, now is not None, _FAILURE_WEIGHT)
        return
    could, can = value_of(facts_a, LAUNCHABLE), value_of(facts_b, LAUNCHABLE)
    if isinstance(could, Status) and isinstance(can, Status) and could.ok != can.ok:
        yield FactChange(LAUNCHABLE.name, could, can, not can.ok, _LAUNCH_WEIGHT)


def _moved(facts_a: Facts, facts_b: Facts) -> Iterable[FactChange]:
    for kind in _COMPARED:
        a, b = number_of(facts_a, kind), number_of(facts_b, kind)
        if a is None or b is None or a == b:
            continue
        # Without loads the width cannot be compared.
        if kind in (LOAD_WIDTH, STORE_WIDTH) and 0 in (a, b):
            continue
        if kind is INSTRUCTIONS and abs(b - a) < _MIN_INSTRUCTION_CHANGE * a:
            continue
        # A fraction in terms of 64 warps: its effect is the effect of the number of warps.
        scale = 64 if kind is OCCUPANCY else 1
        worse = b < a if kind.better == "high" else b > a
        if kind in IMPROVED_BY_SPILLS and (spills(facts_a) if worse else spills(facts_b)):
            continue  # the side with fewer registers spills
        yield FactChange(kind.name, a, b, worse, weight=kind.weight * effect(a * scale, b * scale))


def _hardware_use(facts_a: Facts, facts_b: Facts) -> Iterable[FactChange]:
    """Yield a change for each unit or technique that only one of the two uses: tensor cores, a pipeline."""
    for use, lost in hardware_use_changes(facts_a, facts_b):
        was, now = value_of(facts_a, use.kind), value_of(facts_b, use.kind)
        yield FactChange(use.kind.name, was, now, lost, use.weight)


def _timed(pairs: Sequence[MatchedVariants]) -> list[tuple[float, float]]:
    """The compile times of both variants of each pair for which they are known, in seconds.

    The columns of a large capture are read in the order of its variants, once.
    """
    old = {pair.a.id: sum(pair.a.seconds.values()) for pair in _by_id(pairs) if pair.a.seconds}
    found = ((old.get(pair.a.id), pair.b.seconds) for pair in pairs)
    return [(before, sum(seconds.values())) for before, seconds in found if before is not None and seconds]


def _by_id(pairs: Sequence[MatchedVariants]) -> list[MatchedVariants]:
    return sorted(pairs, key=lambda pair: pair.a.id)
