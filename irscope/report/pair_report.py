"""The content of a report on two variants, before any format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.finding import Finding
from irscope.diff.rows import StageDiff
from irscope.model import UserError, Variant, format_value
from irscope.workspace import check_stage, text_stages
from irscope.workspace.comparison import Comparison

ALL, NONE = "all", "none"


@dataclass(frozen=True)
class PairReport:
    """Two variants, A and B.

    `names` are their short names; `findings` stand most important first; `diffs` are the compared
    stages by name, in pipeline order; `shown` names those whose rows are asked for. `identical`: both
    are duplicates.
    """

    capture: str
    variants: tuple[Variant, Variant]
    names: tuple[str, str]
    identical: bool
    findings: Sequence[Finding]
    diffs: Mapping[str, StageDiff]
    shown: Sequence[str]

    @property
    def config_changes(self) -> list[tuple[str, str, str]]:
        """(name, A's value, B's value) of the config values that differ; "" where one has none."""
        a, b = (dict(variant.config.values) for variant in self.variants)
        names = dict.fromkeys([*a, *b])
        texts = [
            (name, *(format_value(side[name]) if name in side else "" for side in (a, b))) for name in names
        ]
        return [(name, left, right) for name, left, right in texts if left != right]


def heading(comparison: PairReport, index: int) -> str:
    """What a side is called: `#1 BLOCK_M=64,num_warps=4`."""
    return f"#{comparison.variants[index].id} {comparison.names[index]}"


def pair_report(comparison: Comparison, stage: str | None = None) -> PairReport:
    """The report on a pair.

    `stage` is the stage whose rows are shown: its name, "all" (without SASS that was not derived yet),
    "none", or None for the first that differs in more than shapes. Raises UserError if A or B lacks it.
    """
    named = {stage} - {ALL, NONE, None}
    diffs = _diffs(comparison, [str(name) for name in named], stage == ALL)
    return _report(comparison, diffs, _shown(comparison, diffs, stage))


def pair_report_of_stages(comparison: Comparison, wanted: Sequence[str] | None) -> PairReport:
    """The report on a pair that shows the rows of those of `wanted` that both have (None: all compared)."""
    both = [name for name in text_stages(comparison.a) if name in text_stages(comparison.b)]
    also = [name for name in both if name in (wanted or ())]
    diffs = comparison.diffs(also)
    return _report(comparison, diffs, list(diffs) if wanted is None else also)


def _report(comparison: Comparison, diffs: Mapping[str, StageDiff], shown: Sequence[str]) -> PairReport:
    return PairReport(
        capture=str(comparison.workspace.path),
        variants=comparison.variants,
        names=comparison.names,
        identical=comparison.duplicate,
        findings=comparison.findings,
        diffs=diffs,
        shown=shown,
    )


def _diffs(comparison: Comparison, named: Sequence[str], every: bool) -> dict[str, StageDiff]:
    also = list(named)
    for name in named:
        if check_stage(name).binary:
            raise UserError(f"{name} is binary: there is no diff of it to show")
        for variant in comparison.variants:
            comparison.workspace.content(variant, name)  # says what the variant has instead
    if every:
        also += [name for name in text_stages(comparison.a) if _stored(comparison, name)]
    return comparison.diffs(also)


def _stored(comparison: Comparison, name: str) -> bool:
    return all(name in variant.artifacts for variant in comparison.variants)


def _shown(comparison: Comparison, diffs: Mapping[str, StageDiff], asked: str | None) -> list[str]:
    if asked in (ALL, NONE):
        return list(diffs) if asked == ALL else []
    if asked is not None:
        return [asked]
    first = comparison.first_difference or next((d for d in diffs.values() if not d.equal), None)
    return [first.stage] if first else []
