"""A variant as a lesson looks at it: its facts and the lines of its stages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from irscope.analysis.fact import Fact
from irscope.analysis.facts import measure
from irscope.ir.without_locations import without_locations
from irscope.learn.lesson import Step
from irscope.model import Variant, stage_named
from irscope.store import find_variant

# Quoted as the stages are, though it is none.
OUTPUT = "output"

ReadStage = Callable[[Variant, str], bytes | None]


@dataclass(frozen=True, slots=True)
class Seen:
    """A variant, its facts by name, and what reads a stage of it."""

    variant: Variant
    facts: Mapping[str, Fact]
    read: Callable[[str], bytes | None]

    def text(self, stage: str) -> str:
        """A stage as it stands, or `output`, what the compiler printed; empty where there is none."""
        if stage == OUTPUT:
            return self.variant.output
        return (self.read(stage) or b"").decode("utf-8", "replace")

    def lines(self, stage: str) -> list[str]:
        """A stage without source locations."""
        return without_locations(self.text(stage), language_of(stage)).splitlines()

    def count(self, stage: str, pattern: str) -> int:
        """How many lines of a stage match."""
        return sum(1 for line in self.lines(stage) if re.search(pattern, line))


def language_of(stage: str) -> str:
    """What a stage is written in."""
    return "text" if stage == OUTPUT else stage_named(stage).language or ""


def pair_of(step: Step, variants: Sequence[Variant], read: ReadStage) -> tuple[Seen, Seen]:
    """The two variants that a step is about. Raises UserError where the capture lacks one."""
    a, b = (_seen(find_variant(variants, name), read) for name in (step.a, step.b))
    return a, b


def _seen(variant: Variant, read: ReadStage) -> Seen:
    reading = partial(read, variant)
    return Seen(variant, measure(variant, reading), reading)
