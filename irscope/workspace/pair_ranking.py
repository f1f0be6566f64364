"""The pairs of variants most worth comparing: their configs differ little, their facts differ much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from irscope.facts.fact import Facts, number_of, status_of, value_of
from irscope.facts.registry import LAUNCHABLE, MS, MS_KEY
from irscope.findings.finding import PairContext, Severity, effect
from irscope.findings.registry import findings
from irscope.model import Variant, format_value
from irscope.model.records import RowMaker, frozen_with_dict, grouped, varying_keys

# If no two differ in only one value, all pairs of this many variants, the first, are candidates.
_MOST_COMPARED = 40
# A pair takes 0.2 ms: the pairs of 1,000 variants would take 10 s, those of 100,000 a day.
_MOST_PAIRS = 10_000

VariantPair = tuple[Variant, Variant]
_FactsById = Mapping[int, Facts]


@frozen_with_dict
class _Candidate:
    """A pair, the names of the values in which it differs, and the weight of its findings."""

    pair: VariantPair
    names: frozenset[str]
    weight: float


def rank_pairs(variants: Sequence[Variant], facts: _FactsById, most: int) -> list[VariantPair]:
    """Return at most `most` pairs of `variants`, judged by their facts; `facts` by variant id.

    The variants of a pair have the same kernel and target, can be launched and are not
    duplicates. For each value that varies (of the config, an argument, Triton's version), the
    pair is the one that differs in that value and the fewest others, and most in its facts.
    Kernels take turns.
    """
    usable = (variant for variant in variants if _usable(variant, facts))
    groups = grouped(usable, lambda variant: (variant.kernel.name, variant.target))
    ranked = [_ranked(group, facts) for group in groups.values()]
    turns = [pairs[turn] for turn in range(most) for pairs in ranked if turn < len(pairs)]
    return turns[:most]


def _usable(variant: Variant, facts: _FactsById) -> bool:
    variant_facts = facts.get(variant.id, {})
    status = status_of(variant, variant_facts)
    return LAUNCHABLE.name in variant_facts and (status is None or status.ok)


def _ranked(group: Sequence[Variant], facts: _FactsById) -> list[VariantPair]:
    """Return the pairs of a group by weight; each varies a value that no other pair varies."""
    covered: set[str] = set()
    chosen = []
    for candidate in sorted(_candidates(group, facts), key=lambda c: (len(c.names), -c.weight)):
        if not candidate.names <= covered:
            covered |= candidate.names
            chosen.append(candidate)
    return [candidate.pair for candidate in sorted(chosen, key=lambda candidate: -candidate.weight)]


def _candidates(group: Sequence[Variant], facts: _FactsById) -> Iterator[_Candidate]:
    rows: RowMaker[str, str] = RowMaker()
    values = {variant.id: rows.row(_values(variant)) for variant in group}
    pairs = _neighbors(group, values) or list(combinations(group[:_MOST_COMPARED], 2))
    for a, b in pairs:
        ours, theirs = values[a.id], values[b.id]
        names = frozenset(varying_keys([ours, theirs]))
        weight = _weight(a, b, facts)
        if names and weight:
            yield _Candidate((a, b), names, weight)


def _neighbors(group: Sequence[Variant], values: Mapping[int, Mapping[str, str]]) -> list[VariantPair]:
    """Return the pairs that differ in only one value, at most _MOST_PAIRS."""
    names = varying_keys(values.values())
    result: list[VariantPair] = []
    for name in names:
        other_names = [axis for axis in names if axis != name]
        alike: dict[Hashable, list[Variant]] = defaultdict(list)
        for variant in group:
            alike[tuple(map(values[variant.id].get, other_names))].append(variant)
        result += _spread(list(alike.values()), _MOST_PAIRS // len(names))
    return result


def _spread(groups: Sequence[Sequence[Variant]], most: int) -> list[VariantPair]:
    """Return the pairs within each group; a sample of `most` from all groups if there are more."""
    if sum(len(group) * (len(group) - 1) // 2 for group in groups) <= most:
        return [pair for group in groups for pair in combinations(group, 2)]
    # The first with each other one, and each with the next: extremes and steps.
    pairs = [
        pair
        for group in groups
        for pair in (*((group[0], later) for later in group[1:]), *pairwise(group[1:]))
    ]
    return pairs[:: 1 + len(pairs) // most]


def _values(variant: Variant) -> dict[str, str]:
    """Return the values that a variant was compiled for, except for its kernel and target."""
    arguments = {f"argument {argument.name}": str(argument) for argument in variant.specialization}
    constants = {name: format_value(value) for name, value in variant.config.values}
    for name in constants:
        arguments.pop(f"argument {name}", None)  # a constexpr is both
    return {**constants, **arguments, "triton": variant.toolchain.versions.get("triton", "")}


def _weight(a: Variant, b: Variant, facts: _FactsById) -> float:
    """Return the total weight of the findings; 0 for duplicates."""
    ours, theirs = facts[a.id], facts[b.id]
    pair_findings = findings(PairContext(a, b, ours, theirs))
    if any(finding.kind == "identical" for finding in pair_findings):
        return 0
    return sum(finding.weight for finding in pair_findings) + _time(ours, theirs)


def _time(a: Facts, b: Facts) -> float:
    """Return the weight of two measured times, if they are for the same problem."""
    was, now = number_of(a, MS), number_of(b, MS)
    if was is None or now is None or value_of(a, MS_KEY) != value_of(b, MS_KEY):
        return 0
    # In nanoseconds, because `effect` ignores values below a half.
    return Severity.MATRIX_PATH.weight(effect(was * 1e6, now * 1e6))
