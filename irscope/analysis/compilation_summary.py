"""The story of a kernel's compilations in sentences: how often, for which reasons, which for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.analysis.cache_key_text import input_text, value_text
from irscope.analysis.compilations import ArgumentSet, Compilations, Varied

# The JSON of `irscope why` has all of them.
_MAX_VALUES = 8
_MAX_SETS = 20


def totals(kernel: Compilations) -> str:
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


def story(kernel: Compilations) -> Iterator[str]:
    """Why so often, what of it was for nothing, what a warm-up has to cover; two blanks are one level."""
    if kernel.varied:
        yield "because these varied:"
        yield from (f"  {_varied(varied)}" for varied in kernel.varied)
    if kernel.repeated:
        ids = ", ".join(f"#{id_}" for id_ in kernel.repeated[:_MAX_VALUES])
        more = ", ..." if len(kernel.repeated) > _MAX_VALUES else ""
        spent = f"{len(kernel.repeated)} gave machine code that was there already"
        yield f"{spent} ({kernel.repeated_seconds:.1f} s): {ids}{more}"
    else:
        yield "each that is known gave machine code of its own"
    yield from _warm_up(kernel.argument_sets)


def _varied(varied: Varied) -> str:
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
