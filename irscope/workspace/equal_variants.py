"""Variants with equal machine code as a group: `3 equal: num_stages=2,3,4`; and the state of one variant."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.model import Value, Variant, format_value
from irscope.model.varying import varying
from irscope.workspace.fact_table import FactTable
from irscope.workspace.in_progress import InProgress


def equal_text(variants: Sequence[Variant]) -> str:
    """A group of duplicates, by the values in which they differ: `3 equal: num_stages=2,3,4`.

    By their numbers if they do not differ in their configs.
    """
    settings = [variant.settings for variant in variants]
    parts = [f"{name}={joined_values(variants, name)}" for name in varying(settings)]
    numbers = ", ".join(f"#{variant.id}" for variant in variants)
    return f"{len(variants):,} equal: {' '.join(parts) or numbers}"


def joined_values(variants: Sequence[Variant], name: str) -> str:
    """The different values of a config value among variants, in ascending order: `2,3,4`."""
    values: dict[str, Value] = {}
    for chosen in (variant.settings for variant in variants):
        if name in chosen:
            values.setdefault(format_value(chosen[name]), chosen[name])
    numbers = all(isinstance(value, int | float) for value in values.values())
    return ",".join(sorted(values, key=lambda text: float(str(values[text])) if numbers else 0.0))


def state(variant: Variant, facts: FactTable, in_progress: InProgress) -> str:
    """`ok`, `=#3` for a duplicate of variant 3, `!failed`, `!launch`, or how far the compilation is."""
    if variant.id in in_progress:
        return in_progress.status(variant.id)
    if variant.failure is not None:
        return "!failed"
    status = facts.status(variant)
    if status is not None and not status.ok:
        return "!launch"
    first = facts.duplicate_of(variant)
    return "ok" if first is None else f"=#{first}"
