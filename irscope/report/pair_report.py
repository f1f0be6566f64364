"""A comparison of two variants and the stages whose rows a report shows, before any format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.model import UserError
from irscope.model.frozen_value import FrozenValue
from irscope.workspace import Comparison, StageDiff, check_stage, text_stages, written_stage

if TYPE_CHECKING:
    from irscope.report.pair_explanation import PairExplanation

ALL, NONE = "all", "none"


@dataclass(frozen=True, eq=False, repr=False)
class PairReport(FrozenValue):
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
    """The report on a pair.

    `stage` is the stage whose rows are shown: its name, "all" (without SASS that was not derived yet),
    "none", or None for the first that differs in more than shapes. Raises UserError if A or B lacks it.
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
    comparison: Comparison, wanted: Sequence[str] | None, explained: bool = False
) -> PairReport:
    """The report on a pair, with an explanation if `explained`.

    It shows the stages in `wanted` that both have (None: all that are compared).
    """
    in_both = [name for name in text_stages(comparison.a) if name in text_stages(comparison.b)]
    also = [name for name in in_both if name in (wanted or ())]
    diffs = _stages(comparison, also)
    explanation = _explanation(comparison) if explained else None
    return PairReport(comparison, diffs, list(diffs) if wanted is None else also, explanation)


def _explanation(comparison: Comparison) -> PairExplanation:
    from irscope.report.pair_explanation import explain_pair  # imports the layouts, which `diff` does not

    return explain_pair(comparison)


def check_has_rows(stage: str) -> None:
    """Raises UserError if `stage` is unknown or binary."""
    if check_stage(stage).binary:
        raise UserError(f"{stage} is binary and has no rows to compare")


def _stages(comparison: Comparison, also: Sequence[str] = ()) -> dict[str, StageDiff]:
    """The compared stages, those in `also`, and Gluon's own stage."""
    written = {written_stage(variant) for variant in comparison.variants}
    return comparison.diffs([*also, *(["glir"] if written == {"glir"} else [])])


def _stored_in_both(comparison: Comparison) -> list[str]:
    variants = comparison.variants
    return [
        name for name in text_stages(comparison.a) if all(name in variant.artifacts for variant in variants)
    ]
