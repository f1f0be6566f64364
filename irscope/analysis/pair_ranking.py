"""The pairs of variants most worth comparing: their configs differ little, their facts differ much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from irscope.analysis.findings import findings
from irscope.analysis.findings.finding import PairContext
from irscope.analysis.findings.severity import Severity, effect
from irscope.facts.fact import Facts, number_of, status_of, value_of
from irscope.facts.registry import LAUNCHABLE, MS, MS_KEY
from irscope.model import Variant, format_value
from irscope.model.varying import varying

# If no two differ in only one value, all pairs of the first so many variants are candidates.
_MOST_COMPARED = 40

VariantPair = tuple[Variant, Variant]
_FactsById = Mapping[int, Facts]


@dataclass(frozen=True)
class _Candidate:
    """A pair, the names of the values in which it differs, and the weight of its findings."""

    pair: VariantPair
    names: frozenset[str]
    weight: float


def rank_pairs(variants: Sequence[Variant], facts: _FactsById, most: int) -> list[VariantPair]:
    """At most `most` pairs of `variants`, judged by their facts; `facts` by variant id.

    The variants of a pair have the same kernel and target, can be launched and are not duplicates. For
    each value that varies (of the config, an argument, Triton's version), the pair is the one that differs
    in that value and the fewest others, and most in its facts. Kernels take turns.
    """
    groups: dict[Hashable, list[Variant]] = defaultdict(list)
    for variant in variants:
        if _usable(variant, facts):
            groups[variant.kernel.name, variant.target].append(variant)
    ranked = [_ranked(group, facts) for group in groups.values()]
    turns = [pairs[turn] for turn in range(most) for pairs in ranked if turn < len(pairs)]
    return turns[:most]


def _usable(variant: Variant, facts: _FactsById) -> bool:
    known = facts.get(variant.id, {})
    status = status_of(variant, known)
    return LAUNCHABLE.name in known and (status is None or status.ok)


def _ranked(group: Sequence[Variant], facts: _FactsById) -> list[VariantPair]:
    """The pairs of a group by weight; each varies a value that no other pair varies."""
    covered: set[str] = set()
    kept = []
    for candidate in sorted(_candidates(group, facts), key=lambda c: (len(c.names), -c.weight)):
        if not candidate.names <= covered:
            covered |= candidate.names
            kept.append(candidate)
    return [candidate.pair for candidate in sorted(kept, key=lambda candidate: -candidate.weight)]


def _candidates(group: Sequence[Variant], facts: _FactsById) -> Iterator[_Candidate]:
    values = {variant.id: _values(variant) for variant in group}
    pairs = list(_neighbors(group, values)) or combinations(group[:_MOST_COMPARED], 2)
    for a, b in pairs:
        ours, theirs = values[a.id], values[b.id]
        names = frozenset(varying([ours, theirs]))
        weight = _weight(a, b, facts)
        if names and weight:
            yield _Candidate((a, b), names, weight)


def _neighbors(group: Sequence[Variant], values: Mapping[int, Mapping[str, str]]) -> Iterator[VariantPair]:
    """The pairs that differ in only one value."""
    for name in {name: None for own in values.values() for name in own}:
        alike: dict[Hashable, list[Variant]] = defaultdict(list)
        for variant in group:
            others = frozenset(item for item in values[variant.id].items() if item[0] != name)
            alike[others].append(variant)
        for variants in alike.values():
            yield from combinations(variants, 2)


def _values(variant: Variant) -> dict[str, str]:
    """The values that a variant was compiled for, except for its kernel and target."""
    arguments = {f"argument {argument.name}": str(argument) for argument in variant.specialization}
    constants = {name: format_value(value) for name, value in variant.config.values}
    for name in constants:
        arguments.pop(f"argument {name}", None)  # a constexpr is both
    return {**constants, **arguments, "triton": variant.toolchain.versions.get("triton", "")}


def _weight(a: Variant, b: Variant, facts: _FactsById) -> float:
    """The total weight of the findings; 0 for duplicates."""
    ours, theirs = facts[a.id], facts[b.id]
    found = findings(PairContext(a, b, ours, theirs))
    if any(finding.kind == "identical" for finding in found):
        return 0
    return sum(finding.weight for finding in found) + _time(ours, theirs)


def _time(a: Facts, b: Facts) -> float:
    """The weight of two measured times, if they are for the same problem."""
    was, now = number_of(a, MS), number_of(b, MS)
    if was is None or now is None or value_of(a, MS_KEY) != value_of(b, MS_KEY):
        return 0
    # In nanoseconds, because `effect` ignores values below a half.
    return Severity.MATRIX_PATH.weight(effect(was * 1e6, now * 1e6))
