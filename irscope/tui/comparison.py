"""A and B: which stages they have, what differs in each, and the page that each shows."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.diff.rows import StageDiff
from irscope.diff.summary import short_label, summarize
from irscope.model import Variant
from irscope.store import variant_names
from irscope.tui.page import Page, Side, plain_page
from irscope.tui.session import PYTHON, Session

EQUAL = "="
UNKNOWN = "·"
# The stage that people ask for first, shown until it is known which one differs.
_FIRST = "ttgir"


class Comparison:
    """One pair of variants. `notes` fills up as stages are compared: stage -> what differs, for its tab."""

    def __init__(self, session: Session, a: Variant, b: Variant) -> None:
        self.session = session
        self.a = a
        self.b = b
        self.stages = session.tabs(a, b)
        self.notes = {stage: self._first_note(stage) for stage in self.stages}

    @property
    def single(self) -> bool:
        """Whether A and B are one and the same variant."""
        return self.a.id == self.b.id

    def first_stage(self) -> str:
        """The stage to open with."""
        if _FIRST in self.stages:
            return _FIRST
        return self.stages[1] if len(self.stages) > 1 else PYTHON

    def open_tasks(self, current: str, in_order: bool) -> Iterator[str]:
        """The stages whose text is to be made or that are to be compared: `current` first, or in order.

        A stage that has to be disassembled first waits until it is asked for.
        """
        stages = [s for s in self.stages if s != PYTHON and (s == current or self._at_hand(s))]
        if not in_order:
            stages.sort(key=lambda stage: stage != current)
        for stage in stages:
            if self.notes[stage] == UNKNOWN or not self._at_hand(stage):
                yield stage

    def work(self, stage: str) -> StageDiff | None:
        """Makes the texts that are missing and compares them; None where there is nothing to compare.

        Takes long: for the background. Raises UserError where a text cannot be had.
        """
        for variant in (self.a, self.b):
            if self.session.can_make(variant, stage):
                self.session.text(variant, stage)
        if not self.session.comparable(self.a, self.b, stage):
            return None
        return self.session.diff(self.a, self.b, stage)

    def settle(self, stage: str, diff: StageDiff | None) -> None:
        """Notes what the work on a stage found."""
        self.notes[stage] = short_label(diff) if diff else self._first_note(stage)

    def page(self, stage: str) -> Page:
        """The page of a stage: aligned where it has been compared, else the texts as they stand."""
        diff = None if self.single else self.session.known_diff(self.a, self.b, stage)
        if diff is not None:
            left, right = (Side(document.lines, document.language) for document in (diff.left, diff.right))
            return Page(left, right, diff.rows, compared=True)
        left, right = (self.session.side(variant, stage) for variant in (self.a, self.b))
        alone = self.single or (stage == PYTHON and left == right)
        return plain_page(left, None if alone else right)

    def summary(self, stage: str) -> str:
        """What differs in a stage, in words."""
        if stage == PYTHON or self.single:
            return ""
        diff = self.session.known_diff(self.a, self.b, stage)
        if diff is not None:
            return summarize(diff)
        if self.notes[stage] == EQUAL:
            return "the same text"
        return "comparing..." if self.notes[stage] == UNKNOWN and self._at_hand(stage) else ""

    def headings(self) -> tuple[str, str]:
        """What stands over the sides: in what A and B differ, as all else is in the table."""
        return self._heading("A", self.a), self._heading("B", self.b)

    def _heading(self, letter: str, variant: Variant) -> str:
        letter = "A=B" if self.single else letter
        name = variant_names([self.a, self.b] if not self.single else [self.a])[variant.id]
        failed = f"  FAILED: {variant.failure.kind}" if variant.failure else ""
        return f"{letter} #{variant.id} {name}{failed}"

    def _first_note(self, stage: str) -> str:
        if stage == PYTHON or self.single:
            return ""
        left, right = (self.session.key(variant, stage) for variant in (self.a, self.b))
        if left is None or right is None:
            return "A only" if left else "B only"
        return EQUAL if left == right else UNKNOWN

    def _at_hand(self, stage: str) -> bool:
        return all(
            self.session.at_hand(variant, stage) or not self.session.can_make(variant, stage)
            for variant in (self.a, self.b)
        )
