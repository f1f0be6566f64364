"""The passes that a user selects by name, by line of Python, or by an operation, before any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from irscope.analysis.pass_history import PassStep, history
from irscope.diff.rows import Change
from irscope.languages.language_registry import line_without_location
from irscope.model import UserError, Variant
from irscope.workspace.comparison import Comparison
from irscope.workspace.pass_comparison import BOTH, IN_A, PassChange, PassComparison, PassDifference, PassLine
from irscope.workspace.workspace import Workspace


@dataclass(frozen=True)
class PassReport:
    """The selected passes of one or two variants, in order; `steps` are all passes of A.

    `differences` is None for one variant.
    """

    capture: str
    variants: Sequence[Variant]
    names: Sequence[str]
    lines: Sequence[PassLine]
    steps: Sequence[PassStep]
    differences: Sequence[PassDifference] | None = None


@dataclass(frozen=True, slots=True)
class OperationEvent:
    """A pass that created or changed an operation, and the operation's text after it."""

    step: PassStep
    change: Change
    text: str


def pass_report(
    pair: Comparison, *, name: str = "*", changed: bool = False, line: int | None = None
) -> PassReport:
    """The passes of A and B, or of one variant if both are the same.

    `name` is a glob of passes; `changed` selects those that changed the module; `line` those that touched
    this line of the Python source. Raises UserError if the passes of a variant were not recorded.
    """
    passes = _recorded(pair)
    selected = []
    for each in passes.lines:
        if not any(fnmatchcase(step.name, name) for step in each.steps) or (changed and not each.changed):
            continue
        if line is None or passes.count_touched(each, line):
            passes.summarize(each)
            selected.append(each)
    sides = 1 if pair.single else 2
    steps = [each.a for each in passes.lines if each.a is not None]
    differences = None if pair.single else passes.differences()
    capture = str(pair.workspace.path)
    return PassReport(
        capture, pair.variants[:sides], pair.names[:sides], selected, steps, differences
    )  # fmt: skip


def pass_changes(pair: Comparison, name: str) -> list[PassChange]:
    """The diffs of the passes called `name`, or with that number.

    With one variant, the modules before and after the pass; with two, the modules of A and B after it. Of a
    pass that ran several times, those that changed something. Raises UserError if there is none.
    """
    passes = _recorded(pair)
    found = [
        line for line in passes.lines if line.a is not None and name in (str(line.a.number), line.a.name)
    ]
    if not found:
        raise UserError(f"no pass '{name}'; irscope passes without --show lists them")
    active = [line for line in found if line.changed]
    return [passes.change(line, BOTH if passes.paired else IN_A) for line in active or found]


def operation_history(workspace: Workspace, variant: Variant, place: str) -> list[OperationEvent]:
    """The passes that created or changed the operation at `place`, "STAGE:LINE" with lines from 1.

    Raises UserError if `place` is malformed, or no pass touched an operation there.
    """
    steps = _recorded_steps(workspace, variant)
    stage, colon, line = place.partition(":")
    known = dict.fromkeys(step.stage for step in steps)
    if not colon or not line.isdecimal() or int(line) < 1 or stage not in known:
        raise UserError(f"--operation {place}: not STAGE:LINE; stages with passes: {', '.join(known)}")
    events = history(steps, stage, int(line) - 1, partial(workspace.module, variant=variant))
    if not events:
        raise UserError(f"--operation {place}: no pass created or changed an operation there")
    found = []
    for event in events:
        text = ""
        if event.step.after is not None:
            after = workspace.module(event.step.after, variant)
            text = line_without_location(after.lines[event.line], after.language).strip()
        found.append(OperationEvent(event.step, event.change, text))
    return found


def _recorded(pair: Comparison) -> PassComparison:
    """The passes of a pair. Raises UserError if those of a variant were not recorded."""
    for variant in pair.variants:
        _recorded_steps(pair.workspace, variant)
    return PassComparison(pair)


def _recorded_steps(workspace: Workspace, variant: Variant) -> list[PassStep]:
    found = workspace.passes(variant)
    if not found:
        raise UserError(
            f"#{variant.id} has no passes; irscope compile --passes and irscope run --passes record them"
        )
    return found
