"""A variant as a lesson looks at it: its facts and the lines of its stages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from irscope.backends import stage_named
from irscope.facts.fact import Fact
from irscope.facts.measure import measure
from irscope.languages.registry import strip_debug
from irscope.learn.extras import file_text, layout_text, lint_text
from irscope.learn.lesson import LessonStep
from irscope.model import Variant
from irscope.store import find_variant, variant_names

# What is quoted as the stages are, though it is none, and what it is written in.
_BESIDE = {"python": "python", "file": "python", "output": "text", "layout": "text", "lint": "text"}

ReadStage = Callable[[Variant, str], bytes | None]


@dataclass(frozen=True, slots=True)
class LessonContext:
    """A variant, its short name in the capture, its facts by name, and what reads a stage of it."""

    variant: Variant
    name: str
    facts: Mapping[str, Fact]
    read: Callable[[str], bytes | None]

    def text(self, stage: str) -> str:
        """A stage as it stands, or one of the things beside; empty where there is none.

        These are: `python`, the kernel; `file`, the file that it is in; `output`, what the compiler
        printed; `layout` and `lint`, what these commands say.
        """
        if stage in _BESIDE:
            return self._beside(stage)
        return (self.read(stage) or b"").decode("utf-8", "replace")

    def _beside(self, name: str) -> str:
        match name:
            case "python":
                return self.variant.kernel.source.text
            case "file":
                return file_text(self.variant)
            case "layout":
                return layout_text(self.variant, self.text("ttgir"), self.text("ptx"))
            case "lint":
                return lint_text(self.variant)
            case _:
                return self.variant.output

    def lines(self, stage: str) -> list[str]:
        """A stage without source locations."""
        return strip_debug(self.text(stage), language_of(stage)).splitlines()

    def count(self, stage: str, pattern: str) -> int:
        """How many lines of a stage match."""
        return sum(1 for line in self.lines(stage) if re.search(pattern, line))


def language_of(stage: str) -> str:
    """What a stage is written in."""
    return _BESIDE.get(stage) or stage_named(stage).language or ""


def pair_of(
    step: LessonStep, variants: Sequence[Variant], read: ReadStage
) -> tuple[LessonContext, LessonContext]:
    """The two variants that a step is about. Raises UserError where the capture lacks one."""
    names = variant_names(variants)
    a, b = (_seen(find_variant(variants, name), names, read) for name in (step.a, step.b))
    return a, b


def _seen(variant: Variant, names: Mapping[int, str], read: ReadStage) -> LessonContext:
    reading = partial(read, variant)
    return LessonContext(variant, names[variant.id], measure(variant, reading), reading)
