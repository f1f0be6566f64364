"""The inputs of a kernel that are fixed when it is compiled, and the values that a capture has of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irscope.analysis.cache_key import CacheKeyInput, cache_key_inputs, has_key
from irscope.analysis.cache_key_diff import value_text
from irscope.model import OPTION_NAMES, Variant
from irscope.model.text import natural_key

CONSTEXPR, ARGUMENT, OPTION = "constexpr", "argument", "option"


@dataclass(frozen=True, slots=True)
class CompileTimeInput:
    """One or several inputs of equal values.

    `kind` is CONSTEXPR, ARGUMENT or OPTION; `values` are the distinct values, sorted: "64", or
    "*fp16 divisible by 16". Each other value is another compilation.
    """

    kind: str
    names: tuple[str, ...]
    values: tuple[str, ...]


def compile_time_inputs(variants: Sequence[Variant]) -> list[CompileTimeInput]:
    """The constants of a kernel's `variants`, the options that vary, and what is known of each argument.

    Arguments with equal values share an entry: `a_ptr, b_ptr: *fp16 divisible by 16`.
    """
    whole = all(map(has_key, variants))
    inputs = [cache_key_inputs(variant, whole) for variant in variants]
    parameters = dict.fromkeys(name for variant in variants for name in variant.kernel.parameters)
    # An import may know fewer parameters than it has constants.
    parameters |= dict.fromkeys(one.name for own in inputs for one in own if one.kind == CONSTEXPR)
    found: list[CompileTimeInput] = []
    for kind, names in ((CONSTEXPR, parameters), (OPTION, OPTION_NAMES), (ARGUMENT, parameters)):
        groups: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            values = _values(inputs, CacheKeyInput(kind, name))
            if values and (kind != OPTION or len(values) > 1):
                groups.setdefault(values if kind == ARGUMENT else (name, *values), []).append(name)
        found += [
            CompileTimeInput(kind, tuple(own), values if kind == ARGUMENT else values[1:])
            for values, own in groups.items()
        ]
    return found


def _values(inputs: Sequence[dict[CacheKeyInput, str]], name: CacheKeyInput) -> tuple[str, ...]:
    return tuple(sorted({value_text(name, own[name]) for own in inputs if name in own}, key=natural_key))
