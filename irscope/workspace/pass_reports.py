"""What the compiler's passes did to one variant, or to two side by side, before any format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from irscope.analysis.divergence import KINDS, Divergence, Divergences, aligned_steps, divergences
from irscope.analysis.pass_history import PassStep, history, step_diff, summary, touched
from irscope.diff.rows import Change, StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.languages.language_registry import line_without_location
from irscope.model import UserError, Variant
from irscope.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PassSummary:
    """A pass and what it did, in one line.

    `touched` counts the operations of the source line that was asked for, by kind of change; None if none
    was asked for.
    """

    step: PassStep
    summary: str
    touched: Mapping[Change, int] | None = None


# A pass in A and in B; None on the side that did not run it. With one variant, B's are None.
PassRow = tuple[PassSummary | None, PassSummary | None]


@dataclass(frozen=True, slots=True)
class PassDifference:
    """One way in which two variants differ, and what the first such pass did: lines for A and for B.

    `kind` is "operations", "layouts" or "attributes"; `divergence` is None if they do not differ in it.
    """

    kind: str
    divergence: Divergence | None
    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()


@dataclass(frozen=True)
class PassReport:
    """The selected passes of one or two variants, in order; `steps` are all passes of A.

    `differences` is None for one variant.
    """

    capture: str
    variants: Sequence[Variant]
    names: Sequence[str]
    rows: Sequence[PassRow]
    steps: Sequence[PassStep]
    differences: Sequence[PassDifference] | None = None


@dataclass(frozen=True, slots=True)
class PassChange:
    """What a pass changed, or how A and B differ after it (`between`); `diff` is None if nothing changed."""

    step: PassStep
    between: bool
    diff: StageDiff | None


@dataclass(frozen=True, slots=True)
class OperationEvent:
    """A pass that created or changed an operation, and the operation's text after it."""

    step: PassStep
    change: Change
    text: str


def recorded_passes(workspace: Workspace, variant: Variant) -> list[PassStep]:
    """The passes of a variant. Raises UserError if they were not recorded."""
    found = workspace.passes(variant)
    if not found:
        raise UserError(
            f"#{variant.id} has no passes; irscope compile --passes and irscope run --passes record them"
        )
    return found


def pass_report(
    workspace: Workspace,
    variants: Sequence[Variant],
    *,
    name: str = "*",
    changed: bool = False,
    line: int | None = None,
) -> PassReport:
    """The passes of one variant or of two.

    `name` is a glob of passes; `changed` selects those that changed the module; `line` those that touched
    this line of the Python source. Raises UserError if the passes of a variant were not recorded.
    """
    sides = [recorded_passes(workspace, variant) for variant in variants]
    rows = []
    for a, b in _side_by_side(sides):
        steps = [step for step in (a, b) if step is not None]
        if not any(fnmatchcase(step.name, name) for step in steps):
            continue
        if changed and not any(step.changed for step in steps):
            continue
        row = _summary(workspace, a, line), _summary(workspace, b, line)
        if line is None or any(side is not None and side.touched for side in row):
            rows.append(row)
    names = [workspace.names[variant.id] for variant in variants]
    differences = list(_differences(workspace, sides)) if len(sides) > 1 else None
    return PassReport(str(workspace.path), variants, names, rows, sides[0], differences)


def pass_changes(workspace: Workspace, variants: Sequence[Variant], name: str) -> list[PassChange]:
    """The diffs of the passes called `name`, or with that number.

    With one variant, the modules before and after the pass; with two, the modules of A and B after it. Of a
    pass that ran several times, those that changed something. Raises UserError if there is none.
    """
    sides = [recorded_passes(workspace, variant) for variant in variants]
    rows = [(a, b) for a, b in _side_by_side(sides) if a is not None and name in (str(a.number), a.name)]
    if not rows:
        raise UserError(f"no pass '{name}'; irscope passes without --show lists them")
    active = [(a, b) for a, b in rows if a.changed or (b is not None and b.changed)]
    return [
        PassChange(a, False, step_diff(a, workspace.module))
        if b is None
        else PassChange(a, True, _diff_after(workspace, a, b))
        for a, b in active or rows
    ]


def operation_history(workspace: Workspace, variant: Variant, place: str) -> list[OperationEvent]:
    """The passes that created or changed the operation at `place`, "STAGE:LINE" with lines from 1.

    Raises UserError if `place` is malformed, or no pass touched an operation there.
    """
    steps = recorded_passes(workspace, variant)
    stage, colon, line = place.partition(":")
    known = dict.fromkeys(step.stage for step in steps)
    if not colon or not line.isdecimal() or int(line) < 1 or stage not in known:
        raise UserError(f"--operation {place}: not STAGE:LINE; stages with passes: {', '.join(known)}")
    events = history(steps, stage, int(line) - 1, workspace.module)
    if not events:
        raise UserError(f"--operation {place}: no pass created or changed an operation there")
    found = []
    for event in events:
        text = ""
        if event.step.after is not None:
            after = workspace.module(event.step.after)
            text = line_without_location(after.lines[event.line], after.language).strip()
        found.append(OperationEvent(event.step, event.change, text))
    return found


def _side_by_side(sides: Sequence[Sequence[PassStep]]) -> Iterator[tuple[PassStep | None, PassStep | None]]:
    if len(sides) > 1:
        yield from aligned_steps(sides[0], sides[1])
    else:
        yield from ((step, None) for step in sides[0])


def _summary(workspace: Workspace, step: PassStep | None, line: int | None) -> PassSummary | None:
    if step is None:
        return None
    if line is None:
        return PassSummary(step, summary(step, workspace.module))
    text = summary(step, workspace.module) if step.changed else ""
    return PassSummary(step, text, touched(step, line, workspace.module))


def _differences(workspace: Workspace, sides: Sequence[Sequence[PassStep]]) -> Iterator[PassDifference]:
    found: Divergences = divergences(sides[0], sides[1], workspace.module, workspace.module)
    for kind in KINDS:
        divergence: Divergence | None = getattr(found, kind)
        pair = divergence.passes if divergence is not None else None
        if pair is None:
            yield PassDifference(kind, divergence)
        else:
            a, b = (tuple(_effect(workspace, step) for step in steps) for steps in (pair.a, pair.b))
            yield PassDifference(kind, divergence, a, b)


def _effect(workspace: Workspace, step: PassStep) -> str:
    options = f" ({step.options})" if step.options else ""
    return f"{step.name}{options}: {summary(step, workspace.module) or 'nothing'}"


def _diff_after(workspace: Workspace, a: PassStep, b: PassStep) -> StageDiff | None:
    left, right = a.after, b.after
    if left is None or right is None or left.language != right.language:
        return None
    return diff_stage(a.stage, workspace.module(left), workspace.module(right))
