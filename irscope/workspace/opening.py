"""The pair of variants that a view opens with: one step of one config value, with a large effect.

The facts suffice, no stage is parsed; 10,000 variants take 0.1 s.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise

from irscope.facts.duplicates import are_duplicates
from irscope.facts.fact import FactValue, value_of
from irscope.facts.registry import (  # fmt: skip
    CODE,
    LOAD_WIDTH,
    MATRIX,
    OCCUPANCY,
    PIPELINE_DEPTH,
    REGISTERS,
    SHARED,
    STACK,
)
from irscope.model import Variant, format_value
from irscope.model.records import distinct_values
from irscope.workspace.compiler_version import compiler_version
from irscope.workspace.fact_table import FactTable

# Steps are first ranked by how far these facts move, and only the first ones by their findings.
_MOVING = tuple(
    kind.name for kind in (STACK, MATRIX, OCCUPANCY, LOAD_WIDTH, PIPELINE_DEPTH, REGISTERS, SHARED)
)
_CODE = CODE.name
_COUNT = re.compile(r"\b\d+ x ")
_EXAMINED = 24
# The weight of a finding that only repeats the config.
_LITTLE = 1.0
# So many variants of a kernel and a target are considered, and so many steps.
_MOST_VARIANTS, _MOST_STEPS = 500, 2000

_Pair = tuple[Variant, Variant]


def opening_pair(variants: Sequence[Variant], facts: FactTable) -> _Pair | None:
    """Return A and B to open with; None without variants. `facts` are those that are known.

    If several versions of the compiler have the same config, the pair is one config under two of
    them, the one that got worse most.

    They have the same kernel and target, can be launched, differ in as few config values as
    possible and have no equal machine code; among such pairs, this is the one with the most
    important finding, the first one if several have it. Without facts, the first variant and the
    nearest one to it.
    """
    compiled = [variant for variant in variants if variant.failure is None]
    usable = [v for v in compiled if v.id not in facts.with_problem] or compiled or list(variants)
    if versions := list(islice(_version_steps(usable), _MOST_STEPS)):
        return _worst_step(versions, facts) or _best_step(versions, facts) or versions[0]
    if len(usable) < 2:
        unusable = [variant for variant in variants if variant not in usable]
        return (usable[0], (unusable or usable)[0]) if usable else None
    steps = islice(_steps([variant for variant in usable if variant.id in facts]), _MOST_STEPS)
    return _best_step(steps, facts) or _nearest(usable, facts)


def _worst_step(steps: Iterable[_Pair], facts: FactTable) -> _Pair | None:
    """Return the step in which facts got most worse; None if none did."""
    from irscope.workspace.capture_comparison import compare_pair  # for captures of several versions only

    known_facts = facts.known
    pairs = [
        compare_pair(a, b, known_facts[a.id], known_facts[b.id])
        for a, b in steps
        if a.id in facts and b.id in facts
    ]
    worst = max(pairs, key=lambda pair: pair.weight, default=None)
    return (worst.a, worst.b) if worst is not None and worst.worse else None


def _best_step(steps: Iterable[_Pair], facts: FactTable) -> _Pair | None:
    """Return the step with the most important finding.

    None if no step has one, or its facts are not known.
    """
    known_steps = [pair for pair in steps if all(variant.id in facts for variant in pair)]
    moving = _moving_values(
        list({variant.id: variant for pair in known_steps for variant in pair}.values()), facts
    )
    ranked = sorted(known_steps, key=lambda pair: _movement(pair, moving), reverse=True)[:_EXAMINED]
    best = max(ranked, key=lambda pair: _importance(pair, facts), default=None)
    return best if best is not None and _importance(best, facts) else None


def _version_steps(variants: Sequence[Variant]) -> Iterator[_Pair]:
    """Yield the pairs of one config under a version of the compiler and the next one."""
    if len({compiler_version(variant) for variant in variants}) < 2:
        return
    groups: dict[Hashable, list[Variant]] = defaultdict(list)
    sources: dict[int, Hashable] = {}
    for variant in variants:
        source = sources.setdefault(variant.kernel.id, hash(variant.kernel.own_functions))
        config = frozenset((name, repr(value)) for name, value in variant.config.values)
        groups[source, str(variant.target), variant.specialization, config].append(variant)
    for group in groups.values():
        ordered = sorted(group, key=compiler_version)
        yield from (
            pair for pair in pairwise(ordered) if compiler_version(pair[0]) != compiler_version(pair[1])
        )


def _steps(variants: Sequence[Variant]) -> Iterator[_Pair]:
    """Yield the pairs that differ in one config value only, which is the next one in ascending order."""
    groups: dict[Hashable, list[Variant]] = defaultdict(list)
    same: dict[int, Hashable] = {}  # a capture shares equal specializations: each is hashed once
    for variant in variants:
        arguments = same.setdefault(id(variant.specialization), hash(variant.specialization))
        groups[variant.kernel.id, str(variant.target), arguments].append(variant)
    for group in groups.values():
        first = group[:_MOST_VARIANTS]
        values = {variant.id: variant.config.values for variant in first}
        for position in range(max(map(len, values.values()), default=0)):
            alike: dict[Hashable, list[Variant]] = defaultdict(list)
            for variant in first:
                config_values = values[variant.id]
                if position < len(config_values):
                    alike[
                        config_values[:position], config_values[position][0], config_values[position + 1 :]
                    ].append(variant)
            for line in alike.values():
                ordered = sorted(line, key=lambda v: (_order(values[v.id][position][1]), v.id))
                yield from pairwise(ordered)


def _order(value: object) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))


def _moving_values(variants: Sequence[Variant], facts: FactTable) -> dict[int, tuple[FactValue, ...]]:
    """Map variant ids to the machine code and the facts that can move.

    Another matrix instruction is more telling than more of the same.
    """
    columns = facts.columns((_CODE, *_MOVING), variants)
    matrix = 1 + _MOVING.index(MATRIX.name)
    columns[matrix] = [
        _COUNT.sub("", value) if isinstance(value, str) else value for value in columns[matrix]
    ]
    return dict(zip([variant.id for variant in variants], zip(*columns, strict=True), strict=True))


def _movement(pair: _Pair, moving: Mapping[int, tuple[FactValue, ...]]) -> tuple[bool, ...]:
    """Check which of the facts move, the most important first; () for equal machine code."""
    (code, *ours), (other_code, *theirs) = (moving[variant.id] for variant in pair)
    if code is not None and code == other_code:
        return ()
    return tuple([a != b and a is not None and b is not None for a, b in zip(ours, theirs, strict=True)])


def _importance(pair: _Pair, facts: FactTable) -> float:
    """Return the weight of the most important finding about a pair; 0 if none, or for duplicates.

    A pipeline as deep as `num_stages` asks for is hardly news to the user who changed it.
    """
    ours, theirs = (facts.known[variant.id] for variant in pair)
    if are_duplicates(*pair, ours, theirs):
        return 0.0
    # Not many modules, but a capture of one variant needs none of them.
    from irscope.findings.fact_findings import FACT_FINDINGS
    from irscope.findings.finding import PairContext, ranked

    context = PairContext(*pair, ours, theirs)
    ranked_findings = ranked(finding for find in FACT_FINDINGS for finding in find(context))
    depths = value_of(ours, PIPELINE_DEPTH), value_of(theirs, PIPELINE_DEPTH)
    as_asked = depths == tuple(variant.config.get("num_stages") for variant in pair)
    weights = (
        min(f.weight, _LITTLE) if as_asked and f.kind == PIPELINE_DEPTH.name else f.weight
        for f in ranked_findings
    )
    return max(weights, default=0.0)


def _nearest(variants: Sequence[Variant], facts: FactTable) -> _Pair:
    """Return the first variant, and the one with the fewest other values but other machine code."""
    first, *rest = variants

    def distance(other: Variant) -> tuple[bool, bool, int]:
        known_facts = (facts.known.get(first.id, {}), facts.known.get(other.id, {}))
        kernels = (first.kernel.name, first.target) != (other.kernel.name, other.target)
        return kernels, are_duplicates(first, other, *known_facts), _config_distance(first, other)

    return first, min(rest, key=distance)


def _config_distance(a: Variant, b: Variant) -> int:
    """Count the config values in which two variants differ."""
    texts = [{name: format_value(value) for name, value in variant.config.values} for variant in (a, b)]
    return sum(number > 1 for number in distinct_values(texts).values())
