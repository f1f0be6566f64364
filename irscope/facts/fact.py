"""What a fact is: a named figure of one variant, with the lines that prove it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FactValue = int | float | str | None

# Reads a stage of the variant at hand: its content, or None where it has none.
ReadStage = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class FactKind:
    """A column of the table.

    `name` is what --sort and JSON call it; `title` a short heading; `unit` what a value counts
    ("" for names). `better` says which way is good: "low", "high", or "" where neither is.
    """

    name: str
    title: str
    unit: str
    better: str
    description: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that proves a fact: the stage and the index (from 0) of the line in its text."""

    stage: str
    line: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure of one variant. `value` is None where it could not be had: unknown, never 0 instead."""

    kind: FactKind
    value: FactValue
    evidence: tuple[Evidence, ...] = ()

    def __str__(self) -> str:
        """The value as a table shows it."""
        if self.value is None:
            return "?"
        if isinstance(self.value, float):
            return f"{self.value:.3g}"
        return f"{self.value:,}" if isinstance(self.value, int) else self.value
