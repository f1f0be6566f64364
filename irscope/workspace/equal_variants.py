"""Variants with equal machine code as a group: `3 equal: num_stages=2,3,4`; and the state of one variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from irscope.model import Variant, format_value
from irscope.model.varying import varying
from irscope.workspace.compiler_version import chosen_values
from irscope.workspace.fact_table import FactTable
from irscope.workspace.in_progress import InProgress

_T = TypeVar("_T")


def equal_text(variants: Sequence[Variant]) -> str:
    """A group of duplicates, by the values in which they differ: `3 equal: num_stages=2,3,4`.

    By their numbers if they do not differ in their configs.
    """
    settings = [chosen_values(variant) for variant in variants]
    parts = [
        f"{name}={joined((chosen[name] for chosen in settings if name in chosen), format_value)}"
        for name in varying(settings)
    ]
    numbers = ", ".join(f"#{variant.id}" for variant in variants)
    return f"{len(variants):,} equal: {' '.join(parts) or numbers}"


def joined(values: Iterable[_T], write: Callable[[_T], str]) -> str:
    """The texts of the different values, in ascending order if they are numbers: `2,3,4`."""
    texts: dict[str, _T] = {}
    for value in values:
        texts.setdefault(write(value), value)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in texts.values())
    return ",".join(sorted(texts, key=lambda text: float(str(texts[text])) if numbers else 0.0))


def state(variant: Variant, facts: FactTable, in_progress: InProgress) -> str:
    """`ok`, `=#3` for a duplicate of variant 3, `!failed`, `!launch`, or how far the compilation is."""
    if variant.id in in_progress:
        return in_progress.status(variant.id)
    if variant.failure is not None:
        return "!failed"
    if variant.id in facts.with_problem:
        return "!launch"
    first = facts.duplicate_of(variant)
    return "ok" if first is None else f"=#{first}"
