"""The compilations of one kernel in a capture: how many, for which reasons, and which for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.cache_key import KINDS, CacheKeyInput, cache_key_inputs, has_key
from irscope.analysis.cache_key_diff import input_text, value_text
from irscope.analysis.duplicates import duplicate_groups
from irscope.facts.fact import Fact
from irscope.model import Variant
from irscope.model.varying import varying

# What a target or a compiler brings along is no reason of its own.
_TOLD = frozenset(KINDS) - {"backend", "line"}


@dataclass(frozen=True, slots=True)
class VaryingInput:
    """An input that is not the same in all compilations: its values (None: not there), with counts."""

    input: CacheKeyInput
    values: tuple[tuple[str | None, int], ...]


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """Arguments that the kernel was compiled for, as (name, text) of those that vary.

    `compiled` variants have them, which took `seconds` (None: not known); `chosen` are the ids of
    those that an autotuner chose, empty where it measured none.
    """

    arguments: tuple[tuple[str, str], ...]
    compiled: int
    seconds: float | None
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class Compilations:
    """The compilations of one kernel.

    `seconds` is the time they took as far as it is known, of `timed` of them; `repeated` are the ids of
    variants whose program was there already by an earlier one, which took `repeated_seconds`.
    """

    kernel: str
    variants: tuple[Variant, ...]
    failed: int
    seconds: float
    timed: int
    varied: tuple[VaryingInput, ...]
    repeated: tuple[int, ...]
    repeated_seconds: float
    argument_sets: tuple[ArgumentSet, ...]


def compilations(
    kernel: str, variants: Sequence[Variant], facts: Mapping[int, Mapping[str, Fact]]
) -> Compilations:
    """What `variants`, all those of the kernel called `kernel`, were compiled for; `facts` by variant id."""
    whole = all(map(has_key, variants))
    values = [cache_key_inputs(variant, whole) for variant in variants]
    varied = _varied(variants, values)
    again = {later.id for _, *others in duplicate_groups(variants, facts) for later in others}
    timed = [variant for variant in variants if variant.seconds]
    return Compilations(
        kernel=kernel,
        variants=tuple(variants),
        failed=sum(variant.failure is not None for variant in variants),
        seconds=sum(map(_seconds, timed)),
        timed=len(timed),
        varied=varied,
        repeated=tuple(sorted(again)),
        repeated_seconds=sum(_seconds(variant) for variant in timed if variant.id in again),
        argument_sets=_argument_sets(variants, values, varied),
    )


def _seconds(variant: Variant) -> float:
    return sum(variant.seconds.values())


def _varied(
    variants: Sequence[Variant], values: Sequence[Mapping[CacheKeyInput, str]]
) -> tuple[VaryingInput, ...]:
    names = [name for name in varying(values) if name.kind in _TOLD]
    by_hand = {name for variant in variants for name, _ in variant.config.values}
    told = []
    # An option that has one value for each target and compiler is told by these.
    places = [(variant.target, variant.toolchain.versions.get("triton")) for variant in variants]
    for name in sorted(names, key=lambda name: KINDS.index(name.kind)):
        own = [value.get(name) for value in values]
        if name.kind == "option" and name.name not in by_hand:
            pairs = set(zip(places, own, strict=True))
            if len(pairs) == len(set(places)):
                continue
        counts = Counter(own)
        told.append(VaryingInput(name, tuple(sorted(counts.items(), key=lambda item: -item[1]))))
    return tuple(told)


def _argument_sets(
    variants: Sequence[Variant], values: Sequence[Mapping[CacheKeyInput, str]], varied: Sequence[VaryingInput]
) -> tuple[ArgumentSet, ...]:
    """What a warm-up has to call the kernel with: the arguments, and what constants no config sets."""
    by_hand = {name for variant in variants for name, _ in variant.config.values}
    names = [
        one.input
        for one in varied
        if one.input.kind == "argument" or (one.input.kind == "constexpr" and one.input.name not in by_hand)
    ]
    sets: dict[tuple[tuple[str, str], ...], list[Variant]] = {}
    for variant, own in zip(variants, values, strict=True):
        key = tuple((name.name, own.get(name, "")) for name in names)
        sets.setdefault(key, []).append(variant)
    return tuple(
        ArgumentSet(
            arguments=key,
            compiled=len(group),
            seconds=sum(map(_seconds, group)) if all(variant.seconds for variant in group) else None,
            chosen=tuple(v.id for v in group if any(benchmark.chosen for benchmark in v.benchmarks)),
        )
        for key, group in sets.items()
    )


# The JSON of `irscope why` has all of them.
_MAX_VALUES = 8
_MAX_SETS = 20


def compilation_totals(kernel: Compilations) -> str:
    """How often it was compiled, and the seconds that took."""
    number = len(kernel.variants)
    parts = [f"compiled {_counted(number, 'time')}"]
    if kernel.timed:
        known = "" if kernel.timed == number else f" (the time of {kernel.timed} is known)"
        parts.append(f"{kernel.seconds:.1f} s{known}")
    else:
        parts.append("the time is not known: Triton's cache had them")
    if kernel.failed:
        parts.append(f"{kernel.failed} failed")
    return ", ".join(parts)


def compilation_summary(kernel: Compilations) -> Iterator[str]:
    """Why so often, what of it was for nothing, what a warm-up has to cover; two blanks are one level."""
    if kernel.varied:
        yield "because these varied:"
        yield from (f"  {_varying_text(varied)}" for varied in kernel.varied)
    if kernel.repeated:
        ids = ", ".join(f"#{id_}" for id_ in kernel.repeated[:_MAX_VALUES])
        more = ", ..." if len(kernel.repeated) > _MAX_VALUES else ""
        spent = f"{len(kernel.repeated)} gave machine code that was there already"
        yield f"{spent} ({kernel.repeated_seconds:.1f} s): {ids}{more}"
    else:
        yield "each that is known gave machine code of its own"
    yield from _warm_up(kernel.argument_sets)


def _varying_text(varied: VaryingInput) -> str:
    if varied.input.kind in ("source", "helper"):
        return f"{input_text(varied.input)}: {len(varied.values)} versions"
    values = [f"{value_text(varied.input, value)} x{number}" for value, number in varied.values[:_MAX_VALUES]]
    more = len(varied.values) - _MAX_VALUES
    return f"{input_text(varied.input)}: {', '.join(values)}{f', and {more} more' if more > 0 else ''}"


def _warm_up(sets: Sequence[ArgumentSet]) -> Iterator[str]:
    if len(sets) == 1:
        yield f"a warm-up has one kind of arguments to cover, {_cost(sets[0])}"
        return
    yield f"a warm-up has {len(sets)} kinds of arguments to cover:"
    for one in sets[:_MAX_SETS]:
        arguments = ", ".join(f"{name} {value}" for name, value in one.arguments)
        yield f"  {arguments}: {_cost(one)}"
    if len(sets) > _MAX_SETS:
        yield f"  and {len(sets) - _MAX_SETS} more; --format json has all"


def _cost(one: ArgumentSet) -> str:
    spent = "" if one.seconds is None else f", {one.seconds:.1f} s"
    number = f"{_counted(one.compiled, 'compilation')}{spent}"
    if one.chosen:
        return f"{number}; autotune chose {', '.join(f'#{id_}' for id_ in one.chosen)}"
    return number


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
