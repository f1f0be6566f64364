"""A variant of an open capture, as the text of a lesson refers to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from irscope.learn.extras import EXTRAS
from irscope.learn.lesson import LessonStep
from irscope.model import Variant
from irscope.workspace import Fact, Workspace, stage_named, strip_debug


@dataclass(frozen=True, slots=True)
class LessonContext:
    """A variant of a lesson's capture, compared with `against` (the same if None).

    `stage` may also name one of the EXTRAS.
    """

    capture: Workspace
    variant: Variant
    against: Variant | None = None

    @property
    def name(self) -> str:
        """The variant's short name."""
        return self.capture.names[self.variant.id]

    @property
    def facts(self) -> Mapping[str, Fact]:
        """The variant's facts, by name; those of its estimate too if it was launched."""
        facts = self.capture.facts(self.variant)
        return {**facts, **self.capture.estimates.facts(self.variant)} if self.variant.launches else facts

    def text(self, stage: str) -> str:
        """The text of a stage or extra. Raises OSError if an extra needs a file that is gone."""
        if extra := EXTRAS.get(stage):
            return extra.text(self.capture, self.variant, self.against or self.variant)
        return self.capture.text(self.variant, stage)

    def lines(self, stage: str) -> list[str]:
        """The lines of a stage without source locations."""
        return strip_debug(self.text(stage), language_of(stage)).splitlines()

    def count(self, stage: str, pattern: str) -> int:
        """How many lines of a stage match a regular expression."""
        return sum(1 for line in self.lines(stage) if re.search(pattern, line))


def language_of(stage: str) -> str:
    """The language of a stage or extra; "" if it is binary."""
    if extra := EXTRAS.get(stage):
        return extra.language
    return stage_named(stage).language or ""


def contexts_of(step: LessonStep, capture: Workspace) -> tuple[LessonContext, LessonContext]:
    """The two variants of a step. Raises UserError if the capture lacks one."""
    a, b = capture.variant(step.a), capture.variant(step.b)
    return LessonContext(capture, a, b), LessonContext(capture, b, a)
