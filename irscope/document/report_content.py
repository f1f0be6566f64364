"""A comparison of two variants and the stages whose rows a report shows, before any format.

Why B was compiled after A, whether it was worth it, and drawings of the layouts that differ.

Computed while the capture is open; reports are formatted after it is closed.

The content of `irscope report`, before any format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from irscope.model import Toolchain, UserError, Variant
from irscope.model.kernel_timeline import KernelTimeline
from irscope.model.records import frozen_with_dict
from irscope.model.text import pluralize
from irscope.workspace import (
    Comparison,
    DrawingOptions,
    LayoutComparison,
    LayoutDrawing,
    StageDiff,
    TableSection,
    TextLine,
    ValuePair,
    Window,
    Workspace,
)
from irscope.workspace.pair_ranking import rank_pairs
from irscope.workspace.timeline_text import pair_timelines
from irscope.workspace.variant_texts import check_stage, text_stages, written_stage
from irscope.workspace.why_lines import reason_lines, worth_lines

if TYPE_CHECKING:
    from irscope.workspace.device_matrix import DeviceMatrix

ALL, NONE = "all", "none"


@frozen_with_dict
class PairReport:
    """Two variants, A and B.

    `diffs` are the compared stages by name, in pipeline order; `shown` names those whose rows are shown.
    `explanation` is None if the report has none.
    """

    comparison: Comparison
    diffs: Mapping[str, StageDiff]
    shown: Sequence[str]
    explanation: PairExplanation | None = None

    def __post_init__(self) -> None:
        # Reports are formatted after the capture is closed.
        _ = self.comparison.findings, self.comparison.duplicate, self.comparison.workspace.names


def pair_report(comparison: Comparison, stage: str | None = None) -> PairReport:
    """Return the report on a pair.

    `stage` is the stage whose rows are shown: its name, "all" (without SASS that was not derived
    yet), "none", or None for the first that differs in more than shapes. Raises UserError if A or
    B lacks it.
    """
    if stage == NONE:
        return PairReport(comparison, _stages(comparison), ())
    if stage == ALL:
        stored = comparison.diffs(also=_stored_in_both(comparison))
        return PairReport(comparison, stored, list(stored))
    if stage is not None:
        check_has_rows(stage)
        for variant in comparison.variants:
            comparison.workspace.content(variant, stage)  # raises UserError if the variant lacks it
        return PairReport(comparison, _stages(comparison, [stage]), [stage])
    diffs = _stages(comparison)
    first = comparison.first_difference or next(
        (diff for diff in comparison.stages.values() if not diff.equal), None
    )
    return PairReport(comparison, diffs, [first.stage] if first else [])


def pair_report_of_stages(
    comparison: Comparison, wanted: Sequence[str] | None, explained: bool
) -> PairReport:
    """Return the report on a pair, with an explanation if `explained`.

    It shows the stages in `wanted` that both have (None: all that are compared).
    """
    in_both = [name for name in text_stages(comparison.a) if name in text_stages(comparison.b)]
    also = [name for name in in_both if name in (wanted or ())]
    diffs = _stages(comparison, also)
    explanation = explain_pair(comparison) if explained else None
    return PairReport(comparison, diffs, list(diffs) if wanted is None else also, explanation)


def check_has_rows(stage: str) -> None:
    """Raise UserError if `stage` is unknown or binary."""
    if check_stage(stage).binary:
        raise UserError(f"{stage} is binary and has no rows to compare")


def _stages(comparison: Comparison, also: Sequence[str] = ()) -> dict[str, StageDiff]:
    """Return the compared stages, those in `also`, and Gluon's own stage."""
    written_stages = {written_stage(variant) for variant in comparison.variants}
    return comparison.diffs([*also, *(["glir"] if written_stages == {"glir"} else [])])


def _stored_in_both(comparison: Comparison) -> list[str]:
    variants = comparison.variants
    return [
        name for name in text_stages(comparison.a) if all(name in variant.artifacts for variant in variants)
    ]


# The values that are drawn, and those that are listed.
_MAX_DRAWN, _MAX_LISTED = 3, 40
# The cells of the drawing of a part, and its fewest rows; the rows and columns of that of a whole value.
_MAX_CELLS, _MIN_ROWS = 160, 4
_MAX_ROWS, _MAX_COLUMNS = 16, 16


@dataclass(frozen=True)
class ValueDrawing:
    """A value in A, and in B unless both are the same variant; `difference` says how its layouts differ."""

    name: str
    difference: str
    drawings: Sequence[LayoutDrawing]


@dataclass(frozen=True)
class PairExplanation:
    """The explanation of a pair.

    `reasons` and `worth` are sentences below a title; empty for a single variant. `layouts` are drawings of
    the values that differ most, `differences` the name of each value whose layout differs, with how.
    `no_layouts` says why there are none. `timelines` are those of A and of B, if one has a pipelined loop.
    """

    reasons: Sequence[TextLine] = ()
    worth: Sequence[TextLine] = ()
    layouts: Sequence[ValueDrawing] = ()
    differences: Sequence[tuple[str, str]] = ()
    no_layouts: str = ""
    timelines: Sequence[KernelTimeline] = ()


def explain_pair(comparison: Comparison) -> PairExplanation:
    """Return the explanation of a pair, or of a single variant if A is B."""
    single = comparison.single
    reasons = () if single else reason_lines(comparison)
    worth = () if single else worth_lines(comparison)
    timelines = pair_timelines(comparison)
    try:
        layouts = LayoutComparison(comparison)
    except UserError as error:
        return PairExplanation(reasons, worth, no_layouts=str(error), timelines=timelines)
    drawn = [_drawn(layouts, value) for value in layouts.notable(_MAX_DRAWN)]
    differences = list(layouts.differences())
    none = "The kernel has no tensors." if single else "No value has another layout."
    no_layouts = "" if drawn or differences else none
    return PairExplanation(reasons, worth, drawn, differences[:_MAX_LISTED], no_layouts, timelines)


def _drawn(layouts: LayoutComparison, value: ValuePair) -> ValueDrawing:
    drawings = layouts.draw(value, DrawingOptions())
    columns = max(len(drawing.grid.columns) for drawing in drawings)
    most = max(_MIN_ROWS, _MAX_CELLS // max(1, columns))
    if any(len(drawing.grid.rows) > most for drawing in drawings):
        drawings = layouts.draw(value, DrawingOptions(Window(rows=(0, most))))
    if len(drawings) == 2 and drawings[0].grid.cells == drawings[1].grid.cells:
        # The parts that repeat are equal: the whole values show how often each repeats.
        options = DrawingOptions().as_map(layouts.shapes(value), _MAX_ROWS, _MAX_COLUMNS)
        drawings = layouts.draw(value, options)
    return ValueDrawing(value.name, layouts.difference(value), drawings)


# The number of pairs that are compared if none is named.
_PAIRS = 4


@dataclass(frozen=True)
class CaptureReport:
    """A capture's tables and pairs. `capture` is the name of the file, without its folder.

    `devices` says how its configs do on other devices.
    """

    capture: str
    sections: Sequence[TableSection]
    pairs: Sequence[PairReport]
    devices: Sequence[DeviceMatrix] = ()

    @property
    def title(self) -> str:
        """Return the names of the kernels."""
        kernels = list(dict.fromkeys(section.kernel for section in self.sections))
        more = f" and {len(kernels) - 3} more" if len(kernels) > 3 else ""
        return ", ".join(kernels[:3]) + more if kernels else self.capture

    @property
    def summary(self) -> str:
        """Return the numbers of variants, failures and duplicates, and the targets, in one sentence."""
        rows = [(variant, section.facts) for section in self.sections for variant in section.variants]
        targets = dict.fromkeys(section.target for section in self.sections)
        failed = sum(variant.failure is not None for variant, _ in rows)
        unlaunchable = sum(variant.id in facts.with_problem for variant, facts in rows) - failed
        duplicates = sum(facts.duplicate_of(variant) is not None for variant, facts in rows)
        parts = [
            f"{pluralize(len(rows), 'variant')} for {', '.join(targets)}" if rows else "no variants",
            f"{failed:,} failed to compile" if failed else "",
            f"{unlaunchable:,} cannot be launched" if unlaunchable else "",
            f"{duplicates:,} with the machine code of another" if duplicates else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def toolchains(self) -> list[Toolchain]:
        """Return the versions that compiled the variants."""
        variants = [variant for section in self.sections for variant in section.variants]
        return list({variant.toolchain.id: variant.toolchain for variant in variants}.values())

    @property
    def pairs_of(self) -> Mapping[int, Sequence[int]]:
        """Map each variant id to the numbers (from 1) of the pairs that contain it."""
        numbers: dict[int, list[int]] = {}
        for number, pair in enumerate(self.pairs, 1):
            for variant in pair.comparison.variants if not pair.comparison.single else ():
                numbers.setdefault(variant.id, []).append(number)
        return numbers

    def shown(self, section: TableSection, most: int) -> TableSection:
        """Return at most `most` variants of a section: those of the pairs and the first others."""
        if len(section.variants) <= most:
            return section
        pairs = set(self.pairs_of)
        selected = pairs | {section.facts.duplicate_of(v) for v in section.variants if v.id in pairs}
        selected |= {variant.id for variant in section.variants[:most]}
        return replace(section, variants=[v for v in section.variants if v.id in selected])

    @property
    def pair_titles(self) -> list[str]:
        """Return the difference of each pair: `BLOCK_M 64 -> 128`.

        Kernel and target come before it if there are several sections.
        """
        several = len(self.sections) > 1
        return [
            f"{pair.comparison.b.kernel.name} {pair.comparison.b.target} {pair_title(pair.comparison)}"
            if several
            else pair_title(pair.comparison)
            for pair in self.pairs
        ]


def capture_report(
    workspace: Workspace,
    pairs: Sequence[tuple[str, str]] | None = None,
    wanted: Sequence[str] | None = None,
    kernel: str | None = None,
    target: str | None = None,
    explained: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> CaptureReport:
    """Return the report on a capture.

    `pairs` are the names of two variants each (None: the pairs whose facts differ most), `wanted`
    the stages whose rows are shown (None: all that are compared), `kernel` and `target` select the
    tables (None: all); `explained`: pairs have explanations, and if there is none, single variants
    are shown; `progress` receives the number of the pair that is being compared, and how many
    there are. Raises UserError if a name matches nothing.
    """
    sections = report_sections(workspace, kernel, target)
    if pairs is None:
        chosen = _ranked_pairs(sections) or (_single_variants(sections) if explained else [])
    else:
        chosen = [(workspace.variant(a), workspace.variant(b)) for a, b in pairs]
    comparisons = []
    for number, (a, b) in enumerate(chosen, 1):
        progress(number, len(chosen))
        comparisons.append(pair_report_of_stages(workspace.compare(a, b), wanted, explained))
    return CaptureReport(workspace.path.name, sections, comparisons)


def report_sections(workspace: Workspace, kernel: str | None, target: str | None) -> list[TableSection]:
    """Return the tables of a report, with estimates unless there are too many launches to wait for.

    Raises UserError if a name matches nothing.
    """
    launched = sum(bool(variant.launches) for variant in workspace.select(kernel, target))
    return workspace.sections(kernel, target, estimate=0 < launched <= workspace.most_estimated)


def _ranked_pairs(sections: Sequence[TableSection]) -> list[tuple[Variant, Variant]]:
    """Return pairs that differ in few values and much in their facts."""
    variants = [variant for section in sections for variant in section.variants]
    facts = sections[0].facts.known if sections else {}
    return rank_pairs(sorted(variants, key=lambda variant: variant.id), facts, _PAIRS)


def _single_variants(sections: Sequence[TableSection]) -> list[tuple[Variant, Variant]]:
    """Return the first variant of each section that compiled, as both sides of a pair."""
    compiled = [[v for v in section.variants if v.failure is None] for section in sections]
    return [(variants[0], variants[0]) for variants in compiled if variants][:_PAIRS]


def pair_title(comparison: Comparison) -> str:
    """Return the config values that differ, `BLOCK_M 64 -> 128`, or the names if none does."""
    if comparison.single:
        return comparison.heading(0)
    return comparison.config_text or f"{comparison.heading(0)} and {comparison.heading(1)}"
