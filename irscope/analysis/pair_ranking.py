"""Which pairs of variants tell most: two that differ in little, of which much came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from irscope.analysis.finding import effect
from irscope.analysis.findings import findings
from irscope.facts.fact import Fact, status_of
from irscope.facts.registry import LAUNCHABLE
from irscope.model import Variant, format_value

# A measured time is what the other figures are for: a doubling of it counts more than one of any of them.
_TIME = 10.0
# Where no two differ in one value alone, the pairs among so many variants are looked at, and no more.
_MOST_COMPARED = 40

Pair = tuple[Variant, Variant]
_Facts = Mapping[int, Mapping[str, Fact]]


@dataclass(frozen=True)
class _Candidate:
    """A pair, the names of the values that it differs in, and how much came of that."""

    pair: Pair
    names: frozenset[str]
    weight: float


def rank_pairs(variants: Sequence[Variant], facts: _Facts, most: int) -> list[Pair]:
    """At most `most` pairs of `variants` that tell most, by their facts alone; `facts` by variant id.

    Both of a pair are of one kernel and target, could be launched, and are not the same program. For each
    value that varies (of the config, an argument, Triton's version) it is the two that differ in it alone,
    or in the fewest others, and most in their facts. Kernels take turns.
    """
    groups: dict[Hashable, list[Variant]] = defaultdict(list)
    for variant in variants:
        if _usable(variant, facts):
            groups[variant.kernel.name, variant.target].append(variant)
    ranked = [_told(group, facts) for group in groups.values()]
    turns = [pairs[turn] for turn in range(most) for pairs in ranked if turn < len(pairs)]
    return turns[:most]


def _usable(variant: Variant, facts: _Facts) -> bool:
    known = facts.get(variant.id, {})
    status = status_of(variant, known)
    return LAUNCHABLE.name in known and (status is None or status.ok)


def _told(group: Sequence[Variant], facts: _Facts) -> list[Pair]:
    """The pairs of a group, the one of which most came first; each varies a value that no other does."""
    told: set[str] = set()
    kept = []
    for candidate in sorted(_candidates(group, facts), key=lambda c: (len(c.names), -c.weight)):
        if not candidate.names <= told:
            told |= candidate.names
            kept.append(candidate)
    return [candidate.pair for candidate in sorted(kept, key=lambda candidate: -candidate.weight)]


def _candidates(group: Sequence[Variant], facts: _Facts) -> Iterator[_Candidate]:
    values = {variant.id: _values(variant) for variant in group}
    pairs = list(_neighbours(group, values)) or combinations(group[:_MOST_COMPARED], 2)
    for a, b in pairs:
        ours, theirs = values[a.id], values[b.id]
        names = frozenset(name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name))
        weight = _weight(a, b, facts)
        if names and weight:
            yield _Candidate((a, b), names, weight)


def _neighbours(group: Sequence[Variant], values: Mapping[int, Mapping[str, str]]) -> Iterator[Pair]:
    """The pairs that differ in one value alone."""
    for name in {name: None for own in values.values() for name in own}:
        alike: dict[Hashable, list[Variant]] = defaultdict(list)
        for variant in group:
            others = frozenset(item for item in values[variant.id].items() if item[0] != name)
            alike[others].append(variant)
        for variants in alike.values():
            yield from combinations(variants, 2)


def _values(variant: Variant) -> dict[str, str]:
    """What a variant was compiled for and with, beside its kernel and target."""
    arguments = {f"argument {argument.name}": str(argument) for argument in variant.specialization}
    constants = {name: format_value(value) for name, value in variant.config.values}
    for name in constants:
        arguments.pop(f"argument {name}", None)  # a constexpr is both
    return {**constants, **arguments, "triton": variant.toolchain.versions.get("triton", "")}


def _weight(a: Variant, b: Variant, facts: _Facts) -> float:
    """How much came of it: the weights of the findings; 0 for the same program."""
    ours, theirs = facts[a.id], facts[b.id]
    found = findings(a, b, ours, theirs, {})
    if any(finding.kind == "identical" for finding in found):
        return 0
    return sum(finding.weight for finding in found) + _time(ours, theirs)


def _time(a: Mapping[str, Fact], b: Mapping[str, Fact]) -> float:
    """How far two times that were measured for the same problem are apart."""
    times = [side["ms"].value if "ms" in side else None for side in (a, b)]
    keys = [side["ms_key"].value if "ms_key" in side else None for side in (a, b)]
    was, now = times
    if not isinstance(was, int | float) or not isinstance(now, int | float) or keys[0] != keys[1]:
        return 0
    # `effect` takes what is below a half for nothing there, and times may be microseconds.
    return _TIME * effect(was * 1e6, now * 1e6)
