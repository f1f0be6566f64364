"""A and B: which stages they have, what differs in each, and the page that each shows."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.finding import Finding
from irscope.diff.build_rows import text_rows
from irscope.diff.rows import StageDiff
from irscope.diff.summary import short_label, summarize
from irscope.model import Variant
from irscope.store import variant_names
from irscope.tui.detail import Detail, detailed
from irscope.tui.page import Page, plain_page
from irscope.tui.page_sides import side_of, tabs_of
from irscope.workspace import PYTHON, Workspace

EQUAL = "="
UNKNOWN = "·"
# One of the two is still being compiled.
PENDING = "…"
# The stage that people ask for first, shown until it is known which one differs.
_FIRST = "ttgir"
# The front end's module says what was asked for, not what the compiler made of it.
_ASKED_FOR = ("source", "glir")


class PairState:
    """One pair of variants. `notes` fills up as stages are compared: stage -> what differs, for its tab.

    `keys` name the texts of each stage as they were when this was made.
    """

    def __init__(self, workspace: Workspace, a: Variant, b: Variant) -> None:
        self.workspace = workspace
        self.a = a
        self.b = b
        self.stages = tabs_of(workspace, a, b)
        self.notes = {stage: self._first_note(stage) for stage in self.stages}
        self.keys = {stage: (self._key(a, stage), self._key(b, stage)) for stage in self.stages}

    def renewed(self) -> PairState:
        """The same pair as the workspace has it now; what was found of a stage stands where its texts do."""
        fresh = PairState(self.workspace, *(self.workspace.by_id(variant.id) for variant in (self.a, self.b)))
        for stage in fresh.stages:
            if stage in self.notes and fresh.keys[stage] == self.keys[stage]:
                fresh.notes[stage] = self.notes[stage]
        return fresh

    def _key(self, variant: Variant, stage: str) -> str:
        """What names the text that a variant shows in a stage; of one without it, how far it is."""
        if stage == PYTHON:
            return stage
        return self.workspace.key(variant, stage) or self.workspace.in_progress.words(variant.id)

    @property
    def single(self) -> bool:
        """Whether A and B are one and the same variant."""
        return self.a.id == self.b.id

    @property
    def growing(self) -> bool:
        """Whether one of the two is still being compiled."""
        return any(variant.id in self.workspace.in_progress for variant in (self.a, self.b))

    def first_stage(self) -> str:
        """The stage to open with."""
        there = [s for s in self.stages[1:] if self.workspace.key(self.a, s) or self.workspace.key(self.b, s)]
        return _FIRST if _FIRST in there else there[0] if there else PYTHON

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
            if self.workspace.derivable(variant, stage):
                self.workspace.text(variant, stage)
        if not self.workspace.comparable(self.a, self.b, stage):
            return None
        return self.workspace.diff(self.a, self.b, stage)

    def matters(self, stage: str, diff: StageDiff | None) -> bool:
        """Whether this is a stage to open with: it differs in more than shapes and constants."""
        return diff is not None and diff.structural and stage not in _ASKED_FOR and not diff.constants_only

    def findings(self) -> tuple[Finding, ...]:
        """What matters about A and B. Compares the stages that were not yet: for the background.

        Raises UserError if a stage is damaged.
        """
        return self.workspace.compare(self.a, self.b).findings

    def settle(self, stage: str, diff: StageDiff | None) -> None:
        """Notes what the work on a stage found."""
        self.notes[stage] = short_label(diff) if diff else self._first_note(stage)

    def page(self, stage: str, detail: Detail = Detail.SHAPES) -> Page:
        """The page of a stage: aligned where it has been compared, else the texts as they stand."""
        diff = None if self.single else self.workspace.known_diff(self.a, self.b, stage)
        if diff is not None:
            left, right = (side_of(self.workspace, variant, stage) for variant in (self.a, self.b))
            rows = detailed(diff.rows, left, right, detail)
            return Page(left, right, rows, compared=True, raw=detail is Detail.RAW)
        alone = self.alone(stage)
        if alone is not None:
            return plain_page(side_of(self.workspace, alone, stage), None)
        left, right = (side_of(self.workspace, variant, stage) for variant in (self.a, self.b))
        if stage != PYTHON:
            return plain_page(left, right)
        if left == right:
            return plain_page(left, None)
        return Page(left, right, text_rows(left.lines, right.lines), compared=True, raw=True)

    def alone(self, stage: str) -> Variant | None:
        """The variant to be shown alone, None where both are.

        It is the one that failed, else the only one that has the stage.
        """
        if self.single:
            return self.a
        if stage == PYTHON:
            return None
        lacking = [v for v in (self.b, self.a) if self.workspace.key(v, stage) is None]
        failed = [v for v in lacking if v.failure is not None]
        if failed or not lacking:
            return failed[0] if failed else None
        return self.a if lacking[0] is self.b else self.b

    def summary(self, stage: str) -> str:
        """What differs in a stage, in words."""
        if stage == PYTHON or self.single:
            return ""
        diff = self.workspace.known_diff(self.a, self.b, stage)
        if diff is not None:
            return summarize(diff)
        if self.notes[stage] == EQUAL:
            return "the same text"
        if self.notes[stage] == PENDING:
            letters = [x for x, v in (("A", self.a), ("B", self.b)) if self.workspace.key(v, stage) is None]
            return f"{' and '.join(letters)} not that far yet"
        return "comparing..." if self.notes[stage] == UNKNOWN and self._at_hand(stage) else ""

    def headings(self) -> tuple[str, str]:
        """What stands over the sides: in what A and B differ, as all else is in the table."""
        if self.single:
            return self._heading("A=B", self.a, [self.a]), ""
        # Two of one config differ in their source, which is said.
        alike = bool(self.workspace.age(self.a)) and same_config(self.a, self.b)
        left, right = ([self.a], [self.b]) if alike else ([self.a, self.b], [self.a, self.b])
        return self._heading("A", self.a, left), self._heading("B", self.b, right)

    def _heading(self, letter: str, variant: Variant, among: list[Variant]) -> str:
        words = [f"{letter} #{variant.id}", self.workspace.age(variant), variant_names(among)[variant.id]]
        if variant.failure:
            words.append(f" FAILED: {variant.failure.kind}")
        if variant.id in self.workspace.in_progress:
            words.append(f" {self.workspace.in_progress.words(variant.id)}")
        return " ".join(word for word in words if word)

    def _first_note(self, stage: str) -> str:
        if stage == PYTHON or self.single:
            return ""
        left, right = (self.workspace.key(variant, stage) for variant in (self.a, self.b))
        if (left is None and self.a.id in self.workspace.in_progress) or (
            right is None and self.b.id in self.workspace.in_progress
        ):
            return PENDING
        if left is None or right is None:
            return "A only" if left else "B only"
        return EQUAL if left == right else UNKNOWN

    def _at_hand(self, stage: str) -> bool:
        return all(
            self.workspace.available(variant, stage) or not self.workspace.derivable(variant, stage)
            for variant in (self.a, self.b)
        )


def same_config(a: Variant, b: Variant) -> bool:
    """Whether two variants of a kernel are one and the same but for its source."""
    return (a.kernel.name, a.target, a.specialization, a.config) == (
        b.kernel.name,
        b.target,
        b.specialization,
        b.config,
    )
