"""A and B on screen: the stages they have, what differs in each, and the page that each shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from irscope.model import UserError, Variant
from irscope.tui.page import Page, PageSide, plain_page
from irscope.workspace import Detail, OperandNotes, PythonSource, Workspace
from irscope.workspace.compiler_version import version_name
from irscope.workspace.diff_rows import differs_materially, rows_at, rows_in_place
from irscope.workspace.source_lines import python_rows
from irscope.workspace.variant_texts import ERROR, PYTHON, check_stage, failure_lines

if TYPE_CHECKING:
    from irscope.workspace import Comparison, FindingRow, StageDiff

EQUAL = "="
UNKNOWN = "·"
# A or B is still being compiled.
PENDING = "…"
# The stage shown until it is known which one differs.
_FIRST = "ttgir"
# The facts that say what a difference costs.
_COSTS = ("occupancy", "registers", "stack", "shared")


class PairState:
    """Two variants. `notes` has what differs in each stage, for its tab, as far as it is known.

    `keys` identify the texts of each stage as they were when this was created.
    """

    def __init__(self, workspace: Workspace, a: Variant, b: Variant) -> None:
        self.workspace = workspace
        self.a = a
        self.b = b
        # A and B, once if they are the same.
        self._sides = (a,) if a.id == b.id else (a, b)
        self.stages = self._tabs()
        self.notes = {stage: self._initial_note(stage) for stage in self.stages}
        self.keys = {stage: (self._key(a, stage), self._key(b, stage)) for stage in self.stages}
        # The compared pages of one stage, each with the diff that it shows.
        self._pages: dict[tuple[str, Detail], tuple[StageDiff, Page]] = {}

    def renewed(self) -> PairState:
        """Return the same pair in its current state; notes are kept if a stage's texts did not change."""
        by_id = self.workspace.live.by_id
        fresh = PairState(self.workspace, by_id(self.a.id), by_id(self.b.id))
        for stage in fresh.stages:
            if stage in self.notes and fresh.keys[stage] == self.keys[stage]:
                fresh.notes[stage] = self.notes[stage]
        return fresh

    @cached_property
    def comparison(self) -> Comparison:
        """Everything about how B differs from A, computed when it is asked for."""
        return self.workspace.compare(self.a, self.b)

    @property
    def single(self) -> bool:
        """Return True if A and B are the same variant."""
        return len(self._sides) == 1

    @cached_property
    def without_passes(self) -> list[Variant]:
        """Those of A and B whose compiler passes were not recorded."""
        return [variant for variant in self._sides if not self.workspace.passes(variant)]

    @property
    def has_passes(self) -> bool:
        """Return True if the compiler passes of A or B were recorded."""
        return len(self.without_passes) < len(self._sides)

    @property
    def growing(self) -> bool:
        """Return True if A or B is still being compiled."""
        return any(variant.id in self.workspace.in_progress for variant in self._sides)

    @property
    def failed(self) -> frozenset[int]:
        """Return the ids of those of A and B that failed."""
        return frozenset(variant.id for variant in self._sides if variant.failure is not None)

    def first_stage(self) -> str:
        """Return the stage to open with: the error if A or B failed."""
        if self.failed:
            return ERROR
        available = [stage for stage in self.stages[1:] if any(self._stored(stage))]
        return _FIRST if _FIRST in available else available[0] if available else PYTHON

    def open_tasks(self, current: str, in_order: bool) -> Iterator[str]:
        """Yield the stages to compare or to disassemble: in order, or with `current` first.

        A stage that must be disassembled is included only if it is `current`.
        """
        stages = [
            s for s in self.stages if s not in (PYTHON, ERROR) and (s == current or self.is_available(s))
        ]
        if not in_order:
            stages.sort(key=lambda stage: stage != current)
        for stage in stages:
            if self.notes[stage] == UNKNOWN or not self.is_available(stage):
                yield stage

    def derive_texts(self, stage: str) -> None:
        """Derive the texts of a stage that are not stored.

        Takes up to seconds. Raises UserError if a text cannot be derived.
        """
        for variant in self._sides:
            if self.workspace.contents.derivable(variant, stage):
                self.workspace.text(variant, stage)

    def compare_stage(self, stage: str) -> StageDiff | None:
        """Compare the texts of a stage; None without a pair to compare.

        Takes up to seconds. Raises UserError if a text is damaged or cannot be derived.
        """
        self.derive_texts(stage)
        if not self.workspace.contents.comparable(self.a, self.b, stage):
            return None
        return self.workspace.diff(self.a, self.b, stage)

    def opens_with(self, diff: StageDiff | None) -> bool:
        """Return True if a stage is one to open with: it differs in more than shapes and constants."""
        return diff is not None and differs_materially(diff) and not self.failed

    def findings(self) -> tuple[list[FindingRow], int]:
        """Return the findings as rows, and how many of them are shown by default.

        Compares all stages. Raises UserError if one is damaged.
        """
        from irscope.workspace.finding_table import finding_rows  # after the first paint

        comparison = self.comparison
        return finding_rows(comparison, comparison.findings), len(comparison.main_findings)

    def story(self) -> tuple[str, str]:
        """Say in a line each what B costs compared with A, and where the two diverge; "" if nowhere.

        Compares stages until one differs. Raises UserError if one is damaged.
        """
        pair = self.comparison
        costs = [pair.estimates.text.partition(" (")[0]] if pair.estimates else []
        a, b = pair.facts
        for fact, other in ((a[name], b[name]) for name in _COSTS if name in a and name in b):
            if fact.value != other.value and None not in (fact.value, other.value):
                write = fact.kind.format
                costs.append(fact.kind.titled(f"{write(fact.value)} → {write(other.value)}"))
        first = pair.divergence and pair.divergence.first
        if first:
            place, summary = first.place.removeprefix("in pass "), first.summary
        elif diff := pair.first_difference:
            place, summary = diff.stage, diff.summary
        else:
            return "   ".join(costs), ""
        layouts = summary.partition(": ")[2]
        return "   ".join(costs), f"Diverge: {place}: {layouts or summary}".replace(" -> ", " → ")

    def note(self, stage: str, diff: StageDiff | None) -> None:
        """Note the result of comparing a stage."""
        self.notes[stage] = diff.label if diff else self._initial_note(stage)

    def page(self, stage: str, detail: Detail = Detail.SHAPES) -> Page:
        """Return the page of a stage: aligned if it has been compared, else the plain texts."""
        if stage == ERROR:
            return self._error_page()
        diff = None if self.single else self.workspace.known_diff(self.a, self.b, stage)
        if diff is not None:
            return self._compared_page(stage, detail, diff)
        only = self.only_variant(stage)
        if only is not None:
            return plain_page(side_of(self.workspace, only, stage), None)
        left, right = self._page_sides(stage)
        if stage != PYTHON:
            return plain_page(left, right)
        if left == right:
            return plain_page(left, None)
        rows = python_rows(PythonSource.of_variant(self.a), PythonSource.of_variant(self.b))
        return Page(left, right, rows, compared=True, raw=True)

    def prepare_details(self, stage: str) -> None:
        """Make the pages of a stage for every level of detail, so that switching takes no time."""
        if not self.single and (diff := self.workspace.known_diff(self.a, self.b, stage)) is not None:
            for detail in Detail:
                _ = self._compared_page(stage, detail, diff).code.runs

    def _compared_page(self, stage: str, detail: Detail, diff: StageDiff) -> Page:
        cached = self._pages.get((stage, detail))
        if cached is not None and cached[0] is diff:
            return cached[1]
        left, right = self._page_sides(stage)
        rows = rows_at(detail, rows_in_place(diff), left.lines, right.lines)
        raw, operands = detail is Detail.RAW, OperandNotes(diff)
        page = Page(left, right, rows, compared=True, raw=raw, layouts=diff.layouts, operands=operands)
        # Pages of 50,000 lines take MB, and users change the detail of the stage that they are reading.
        pages = {key: page_entry for key, page_entry in self._pages.items() if key[0] == stage}
        self._pages = {**pages, (stage, detail): (diff, page)}
        return page

    def _error_page(self) -> Page:
        """Return the errors, with the stages that A and B have."""
        counterparts = (None,) if self.single else (self.b, self.a)
        sides = [
            PageSide(failure_lines(variant, counterpart))
            for variant, counterpart in zip(self._sides, counterparts, strict=True)
            if variant.failure is not None
        ]
        return plain_page(sides[0], sides[1] if len(sides) > 1 else None)

    def only_variant(self, stage: str) -> Variant | None:
        """Return the variant that is shown without the other, or None if both are.

        It is the only one that has the stage, or that has an error.
        """
        if self.single:
            return self.a
        if stage == PYTHON:
            return None
        if stage == ERROR:
            return None if len(self.failed) > 1 else self.workspace.live.by_id(*self.failed)
        left, right = self._stored(stage)
        if right is None:
            return self.a
        return self.b if left is None else None

    def differs_in(self, stage: str) -> bool:
        """Return True if a stage is known to differ."""
        return self.notes[stage] not in ("", EQUAL, UNKNOWN, PENDING)

    def summary(self, stage: str) -> str:
        """Return the differences in a stage, in one line."""
        if stage in (PYTHON, ERROR) or self.single:
            return ""
        diff = self.workspace.known_diff(self.a, self.b, stage)
        if diff is not None:
            return diff.summary
        if self.notes[stage] == EQUAL:
            return "identical text"
        if self.notes[stage] == PENDING:
            letters = [x for x, key in zip("AB", self._stored(stage), strict=True) if key is None]
            return f"{' and '.join(letters)}: not compiled this far yet"
        return "comparing..." if self.notes[stage] == UNKNOWN and self.is_available(stage) else ""

    def operation_text(self, stage: str, left: int | None, right: int | None) -> str:
        """Return the operations that start at these lines (from 0) of A and B, with their regions.

        If they are not the same text, return a diff; if there are none, "". May parse the stage, which
        takes long.
        """
        only = self.only_variant(stage)
        ours = self._operation(only or self.a, stage, left)
        theirs = [] if only else self._operation(self.b, stage, right)
        if not theirs or ours == theirs:
            return "\n".join(ours)
        return "\n".join([*(f"-{line}" for line in ours), *(f"+{line}" for line in theirs)])

    def headings(self) -> tuple[str, str]:
        """Return the titles of the two sides: only the values in which A and B differ."""
        if self.single:
            return self._heading("A=B", self.a, [self.a]), ""
        # With one config they differ in their source, which `age` says.
        same = bool(version_name(self.workspace, self.a)) and same_config(self.a, self.b)
        left, right = ([self.a], [self.b]) if same else ([self.a, self.b], [self.a, self.b])
        return self._heading("A", self.a, left), self._heading("B", self.b, right)

    def _heading(self, letter: str, variant: Variant, among: list[Variant]) -> str:
        version = version_name(self.workspace, variant)
        failure = f" FAILED: {variant.failure.kind}" if variant.failure else ""
        status = self.workspace.in_progress.status(variant.id)
        names = (version, self.workspace.names_among(among)[variant.id], failure, status and f" {status}")
        return " ".join([f"{letter} #{variant.id}", *filter(None, names)])

    def _operation(self, variant: Variant, stage: str, line: int | None) -> list[str]:
        if line is None:
            return []
        contents = self.workspace.contents
        is_stored = stage not in (PYTHON, ERROR) and contents.key(variant, stage)
        if is_stored and contents.available(variant, stage):
            return self.workspace.operation_lines(variant, stage, line)
        # The cursor may still be in the stage that was shown before.
        return list(side_of(self.workspace, variant, stage).lines[line : line + 1])

    def _key(self, variant: Variant, stage: str) -> str:
        """Identify the text that a variant shows in a stage."""
        if stage in (PYTHON, ERROR):
            return stage
        return self.workspace.contents.key(variant, stage) or self.workspace.in_progress.status(variant.id)

    def _initial_note(self, stage: str) -> str:
        if stage == PYTHON or self.single:
            return ""
        if stage == ERROR:
            return " and ".join(x for x, v in zip("AB", self._sides, strict=False) if v.failure is not None)
        left, right = self._stored(stage)
        progress = self.workspace.in_progress
        if (left is None and self.a.id in progress) or (right is None and self.b.id in progress):
            return PENDING
        if left is None or right is None:
            return "A only" if left else "B only"
        return EQUAL if left == right else UNKNOWN

    def is_available(self, stage: str) -> bool:
        """Return True if the texts of a stage are stored, or were derived before."""
        contents = self.workspace.contents
        return all(contents.available(v, stage) or not contents.derivable(v, stage) for v in self._sides)

    def _stored(self, stage: str) -> tuple[str | None, str | None]:
        """Identify the contents of a stage of A and of B; None for one that lacks it."""
        key = self.workspace.contents.key
        return key(self.a, stage), key(self.b, stage)

    def _page_sides(self, stage: str) -> tuple[PageSide, PageSide]:
        return side_of(self.workspace, self.a, stage), side_of(self.workspace, self.b, stage)

    def _tabs(self) -> list[str]:
        """Return the Python source and every text stage that A or B has, can derive or will have."""
        known = dict.fromkeys(stage for variant in self._sides for stage in self.workspace.pipeline(variant))
        texts = [stage.name for stage in known if not stage.binary]
        progress = self.workspace.in_progress
        expected = {stage for v in self._sides if v.id in progress for stage in progress.expected_stages(v)}
        stages = [name for name in texts if name in expected or any(self._stored(name))]
        return [PYTHON, *stages, *([ERROR] if self.failed else [])]


def same_config(a: Variant, b: Variant) -> bool:
    """Return True if two variants of a kernel differ at most in its source."""
    return (a.kernel.name, a.target, a.specialization, a.config) == (
        b.kernel.name,
        b.target,
        b.specialization,
        b.config,
    )


def side_of(workspace: Workspace, variant: Variant, stage: str) -> PageSide:
    """Return the content of a tab: the text, or the reason for its absence."""
    if stage == PYTHON:
        source = PythonSource.of_variant(variant)
        return PageSide(source.texts, "python", source.numbers)
    if stage == ERROR:
        return PageSide(failure_lines(variant))
    if not workspace.contents.key(variant, stage):
        return PageSide((workspace.in_progress.status(variant.id) or _missing(variant, stage)).split("\n"))
    if not workspace.contents.available(variant, stage):
        return PageSide([f"Disassembling the machine code ({stage})..."])
    try:
        return PageSide(workspace.lines(variant, stage), check_stage(stage).language)
    except UserError as error:  # a damaged stage, which must not end the app
        return PageSide([str(error)])


def _missing(variant: Variant, stage: str) -> str:
    if variant.failure is not None:
        return "\n".join(failure_lines(variant))
    return f"This variant has no {stage}."
