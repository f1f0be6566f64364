"""What a lesson needs from an open capture, and one of its variants as a lesson's text refers to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from irscope.backends import stage_named
from irscope.facts.fact import Fact
from irscope.languages.document import Document
from irscope.languages.registry import strip_debug
from irscope.layouts.kernel_layouts import KernelLayouts
from irscope.learn.extras import EXTRAS
from irscope.learn.lesson import LessonStep
from irscope.model import Variant


class LessonCapture(Protocol):
    """An open capture. A lesson asks it for everything that must be read, parsed or measured."""

    @property
    def variants(self) -> Sequence[Variant]:
        """The variants, in order."""
        ...

    @property
    def names(self) -> Mapping[int, str]:
        """The short name of each variant, by id."""
        ...

    def variant(self, name: str) -> Variant:
        """The variant that `name` identifies. Raises UserError if none or several match."""
        ...

    def text(self, variant: Variant, stage: str) -> str:
        """The text of a stage."""
        ...

    def facts(self, variant: Variant) -> Mapping[str, Fact]:
        """The facts of a variant, by name."""
        ...

    def document(self, variant: Variant, stage: str) -> Document:
        """A stage, parsed."""
        ...

    def layouts(self, variant: Variant) -> KernelLayouts:
        """The layouts of a variant's TTGIR."""
        ...


@dataclass(frozen=True, slots=True)
class LessonContext:
    """A variant of a lesson's capture. `stage` may also name one of the EXTRAS."""

    capture: LessonCapture
    variant: Variant

    @property
    def name(self) -> str:
        """The variant's short name."""
        return self.capture.names[self.variant.id]

    @property
    def facts(self) -> Mapping[str, Fact]:
        """The variant's facts, by name."""
        return self.capture.facts(self.variant)

    def text(self, stage: str) -> str:
        """The text of a stage or extra. Raises OSError if an extra needs a file that is gone."""
        if extra := EXTRAS.get(stage):
            return extra.text(self.capture, self.variant)
        return self.capture.text(self.variant, stage)

    def lines(self, stage: str) -> list[str]:
        """The lines of a stage without source locations."""
        return strip_debug(self.text(stage), language_of(stage)).splitlines()

    def count(self, stage: str, pattern: str) -> int:
        """How many lines of a stage match a regular expression."""
        return sum(1 for line in self.lines(stage) if re.search(pattern, line))

    def document(self, stage: str) -> Document:
        """A stage, parsed."""
        return self.capture.document(self.variant, stage)


def language_of(stage: str) -> str:
    """The language of a stage or extra; "" if it is binary."""
    if extra := EXTRAS.get(stage):
        return extra.language
    return stage_named(stage).language or ""


def contexts_of(step: LessonStep, capture: LessonCapture) -> tuple[LessonContext, LessonContext]:
    """The two variants of a step. Raises UserError if the capture lacks one."""
    return LessonContext(capture, capture.variant(step.a)), LessonContext(capture, capture.variant(step.b))
