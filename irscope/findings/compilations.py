"""The compilations of one kernel in a capture: how many, for which reasons, and which were redundant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from irscope.facts.duplicates import duplicate_groups
from irscope.facts.fact import Fact
from irscope.findings.cache_key import KINDS, CacheKeyInput, cache_key_inputs, has_key
from irscope.findings.cache_key_diff import VARIABLE_OPTIONS, input_text, value_text
from irscope.model import Kernel, Variant
from irscope.model.records import FrozenRow, RowMaker, frozen, grouped, varying_keys
from irscope.model.text import duration, pluralize

# Inputs that only follow the target or the compiler are not reasons.
_REASONS = frozenset(KINDS) - {"backend", "line"}


# A tensor descriptor's type: the text before its block shape, the shape, and the text after it.
_DESCRIPTOR = re.compile(r"(tensordesc(?:_im2col)?<[^\[\]<>]{1,40})\[[\d, ]{0,100}\](.{0,200}>)")
_AUTOTUNE = re.compile(r"^[ \t]*@(?:\w+\.)*autotune\b", re.MULTILINE)


@frozen
class VaryingInput:
    """An input that varies between compilations: its values (None: missing) and how often each occurs."""

    input: CacheKeyInput
    values: tuple[tuple[str | None, int], ...]


@frozen
class ArgumentSet:
    """Arguments that the kernel was compiled for, as (name, text) of the arguments that vary.

    `compiled` is the number of variants with these arguments and `seconds` their compile time (None:
    unknown); `chosen` are the ids of the variants that the autotuner chose.
    """

    arguments: tuple[tuple[str, str], ...]
    compiled: int
    seconds: float | None
    chosen: tuple[int, ...]


@frozen
class Compilations:
    """The compilations of one kernel.

    `kernel` is its name. `variants` are the compilations, `failed` is the number of those without machine
    code. `varied` are the inputs of the cache key with several values, `argument_sets` the specializations
    that a warm-up must cover. `seconds` is the compile time of the variants for which it is known,
    `timed` is their number. `repeated` are the ids of duplicates of earlier variants, `repeated_seconds` is
    what these took.
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


def compilations_by_kernel(
    variants: Sequence[Variant], facts: Mapping[int, Mapping[str, Fact]]
) -> list[Compilations]:
    """Return the compilations of each kernel among `variants`; `facts` by variant id."""
    groups = grouped(variants, lambda variant: variant.kernel.name)
    return [compilations(name, group, facts) for name, group in groups.items()]


def compilations(
    kernel: str, variants: Sequence[Variant], facts: Mapping[int, Mapping[str, Fact]]
) -> Compilations:
    """Why `variants`, all of the kernel called `kernel`, were compiled; `facts` by variant id."""
    results = list(map(_result, variants))
    whole = all(result.has_key for result in results)
    values = _inputs(variants, whole)
    varied = _varied(variants, values)
    repeated = {later.id for _, *others in duplicate_groups(variants, facts) for later in others}
    timed = {v.id: r.seconds for v, r in zip(variants, results, strict=True) if r.seconds is not None}
    return Compilations(
        kernel=kernel,
        variants=tuple(variants),
        failed=sum(variant.failure is not None for variant in variants),
        seconds=sum(timed.values()),
        timed=len(timed),
        varied=varied,
        repeated=tuple(sorted(repeated)),
        repeated_seconds=sum(seconds for id_, seconds in timed.items() if id_ in repeated),
        argument_sets=_argument_sets(variants, results, values, varied),
    )


@frozen
class _Result:
    """Columns of a variant, read once because those of a large capture are not in memory.

    `seconds` is the compile time (None: unknown); `chosen`: the autotuner chose it.
    """

    has_key: bool
    seconds: float | None
    measured: bool
    chosen: bool


def _result(variant: Variant) -> _Result:
    seconds, benchmarks = variant.seconds, variant.benchmarks
    return _Result(
        has_key(variant),
        sum(seconds.values()) if seconds else None,
        bool(benchmarks),
        any(benchmark.chosen for benchmark in benchmarks),
    )


def _inputs(variants: Sequence[Variant], whole: bool) -> list[FrozenRow[CacheKeyInput, str]]:
    """Return the inputs of each variant."""
    rows: RowMaker[CacheKeyInput, str] = RowMaker()
    return [rows.row(cache_key_inputs(variant, whole)) for variant in variants]


def _varied(
    variants: Sequence[Variant], values: Sequence[Mapping[CacheKeyInput, str]]
) -> tuple[VaryingInput, ...]:
    names = [name for name in varying_keys(values) if name.kind in _REASONS]
    by_hand = {name for variant in variants for name, _ in variant.config.values}
    found = []
    # An option with one value per target, compiler and variable that sets its default follows from these.
    places = [
        (v.target, v.toolchain.versions.get("triton"), *map(v.environment.get, VARIABLE_OPTIONS))
        for v in variants
    ]
    for name in sorted(names, key=lambda name: KINDS.index(name.kind)):
        own = [value.get(name) for value in values]
        if name.kind == "option" and name.name not in by_hand:
            pairs = set(zip(places, own, strict=True))
            if len(pairs) == len(set(places)):
                continue
        counts = Counter(own)
        found.append(VaryingInput(name, tuple(sorted(counts.items(), key=lambda item: -item[1]))))
    return tuple(found)


def _argument_sets(
    variants: Sequence[Variant],
    results: Sequence[_Result],
    values: Sequence[Mapping[CacheKeyInput, str]],
    varied: Sequence[VaryingInput],
) -> tuple[ArgumentSet, ...]:
    """Return the values that a warm-up must pass: arguments, and constants that no config sets.

    Not the block shapes of tensor descriptors that the autotuner's `pre_hook` sets for each config.
    """
    values = _without_tuned_shapes(variants, results, values)
    kinds = frozenset(varying_keys(values))
    varied = [one for one in varied if one.input in kinds]
    by_hand = {name for variant in variants for name, _ in variant.config.values}
    names = [
        one.input
        for one in varied
        if one.input.kind == "argument" or (one.input.kind == "constexpr" and one.input.name not in by_hand)
    ]
    sets: dict[tuple[tuple[str, str], ...], list[tuple[Variant, _Result]]] = {}
    for variant, result, own in zip(variants, results, values, strict=True):
        key = tuple((name.name, own.get(name, "")) for name in names)
        sets.setdefault(key, []).append((variant, result))
    return tuple(
        ArgumentSet(
            arguments=key,
            compiled=len(group),
            seconds=_total(result.seconds for _, result in group),
            chosen=tuple(variant.id for variant, result in group if result.chosen),
        )
        for key, group in sets.items()
    )


def _total(seconds: Iterable[float | None]) -> float | None:
    """Return the sum; None if one of them is unknown."""
    known = list(seconds)
    return None if None in known else sum(filter(None, known))


def _without_tuned_shapes(
    variants: Sequence[Variant], results: Sequence[_Result], values: Sequence[Mapping[CacheKeyInput, str]]
) -> Sequence[Mapping[CacheKeyInput, str]]:
    """`values` without the block shapes of descriptors, if the kernel is autotuned and its configs set them.

    tensordesc<fp16[64, 64]> with BLOCK_M=64, tensordesc<fp16[128, 64]> with BLOCK_M=128 -> tensordesc<fp16>
    """
    if not (any(result.measured for result in results) or any(map(is_autotuned, _kernels(variants)))):
        return values
    if not any(map(_has_descriptor, values)):
        return values
    rows: RowMaker[CacheKeyInput, str] = RowMaker()
    shapeless = [
        rows.row(
            {name: _DESCRIPTOR.sub(r"\1\2", v) if name.kind == "argument" else v for name, v in own.items()}
        )
        for own in values
    ]
    # The caller chose the shapes if a config has several for otherwise equal arguments.
    shapes: dict[tuple[Hashable, ...], Mapping[CacheKeyInput, str]] = {}
    for variant, own, rest in zip(variants, values, shapeless, strict=True):
        if shapes.setdefault((variant.target, variant.config, rest.identity), own) != own:
            return values
    return shapeless


def _has_descriptor(values: Mapping[CacheKeyInput, str]) -> bool:
    return any("tensordesc" in text for text in values.values())


def _kernels(variants: Sequence[Variant]) -> list[Kernel]:
    return list({variant.kernel.id: variant.kernel for variant in variants}.values())


def is_autotuned(kernel: Kernel) -> bool:
    """Whether the kernel's text has `@triton.autotune`."""
    return _AUTOTUNE.search(kernel.source.text) is not None


# The JSON of `irscope why` has all of them.
_MAX_VALUES = 8
_MAX_SETS = 20


def compilation_totals(kernel: Compilations) -> str:
    """Return the number of compilations of the kernel, and their time."""
    number = len(kernel.variants)
    parts = [f"compiled {pluralize(number, 'time')}"]
    if kernel.timed:
        known = "" if kernel.timed == number else f" (known for {kernel.timed})"
        parts.append(f"{duration(kernel.seconds)}{known}")
    else:
        parts.append("compile time unknown: they came from Triton's cache")
    if kernel.failed:
        parts.append(f"{kernel.failed} failed")
    return ", ".join(parts)


def compilation_summary(kernel: Compilations) -> Iterator[tuple[int, str]]:
    """Yield lines about the reasons, redundant compilations and warm-up, each with its level, from 1."""
    if kernel.varied:
        yield 1, "because of these inputs:"
        yield from ((2, _varying_text(varied)) for varied in kernel.varied)
    if kernel.repeated:
        ids = ", ".join(f"#{id_}" for id_ in kernel.repeated[:_MAX_VALUES])
        more = ", ..." if len(kernel.repeated) > _MAX_VALUES else ""
        spent = f"{len(kernel.repeated)} produced machine code identical to an earlier one"
        yield 1, f"{spent} ({duration(kernel.repeated_seconds)}): {ids}{more}"
    else:
        yield 1, "none is known to duplicate the machine code of another"
    yield from _warm_up(kernel.argument_sets)


def _varying_text(varied: VaryingInput) -> str:
    if varied.input.kind in ("source", "helper"):
        return f"{input_text(varied.input)}: {len(varied.values)} versions"
    values = [f"{value_text(varied.input, value)} x{number}" for value, number in varied.values[:_MAX_VALUES]]
    more = len(varied.values) - _MAX_VALUES
    return f"{input_text(varied.input)}: {', '.join(values)}{f', and {more} more' if more > 0 else ''}"


def _warm_up(sets: Sequence[ArgumentSet]) -> Iterator[tuple[int, str]]:
    if len(sets) == 1:
        yield 1, f"a warm-up must cover one set of arguments: {_cost(sets[0])}"
        return
    yield 1, f"a warm-up must cover {len(sets)} sets of arguments:"
    for one in sets[:_MAX_SETS]:
        arguments = ", ".join(f"{name} {value or 'constant'}" for name, value in one.arguments)
        yield 2, f"{arguments}: {_cost(one)}"
    if len(sets) > _MAX_SETS:
        yield 2, f"and {len(sets) - _MAX_SETS} more; --format json has all"


def _cost(one: ArgumentSet) -> str:
    spent = "" if one.seconds is None else f", {duration(one.seconds)}"
    number = f"{pluralize(one.compiled, 'compilation')}{spent}"
    if one.chosen:
        return f"{number}; autotune chose {', '.join(f'#{id_}' for id_ in one.chosen)}"
    return number
