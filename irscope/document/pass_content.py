"""The passes of one or two variants, of Triton and of LLVM, before any format."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.document.blocks import Block, Line, StageDiffs, Table, title, variant_name
from irscope.model.text import one_line, pluralize
from irscope.workspace import PassChange, PassLine
from irscope.workspace.diff_rows import counts_text
from irscope.workspace.pass_comparison import (
    LlvmReport,
    OperationEvent,
    PassDifference,
    PassReport,
    effect_text,
)

_UNCHANGED = "="


def passes_content(report: PassReport) -> Iterator[Block]:
    """Yield the pass after which two variants diverge, then a row per pass."""
    for letter, variant, name in zip("AB", report.variants, report.names, strict=False):
        yield variant_name(variant, name, letter)
    steps = report.steps
    changed, seconds = sum(step.changed for step in steps), sum(step.seconds for step in steps)
    listed = "" if len(report.lines) >= len(steps) else f"; {len(report.lines)} shown"
    totals = f"{pluralize(len(steps), 'pass')}, {changed} changed the module, {seconds:.2f} s{listed}"
    yield Line(f"   {totals}")
    if report.differences is not None:
        yield title("Where they diverge")
        for difference in report.differences:
            yield from _difference(difference)
    pair = len(report.variants) > 1
    rows = [cells for line in report.lines for cells in _cells(line, pair)]
    headings = ["#", "stage", "pass", *(["ms A", "ms B"] if pair else ["ms"]), "effect"]
    unchanged = ["dim" if row[-1] == _UNCHANGED else "" for row in rows]
    yield Table.from_rows(rows, headings, "><<>><" if pair else "><<><", roles=unchanged, gap=True)
    if not rows:
        yield Line("none", 1)


def pass_change_content(change: PassChange, context: int) -> Iterator[Block]:
    """Yield the changes of a pass: a heading, then the rows."""
    step, diff = change.step, change.diff
    what = change.note if diff is None else diff.summary
    between = ", A and B after it" if change.between else ""
    yield title(f"{step.number} {step.name} ({step.stage}){between}: {what}")
    if diff is not None:
        yield StageDiffs([diff], context, headed=False)


def operation_text(event: OperationEvent) -> str:
    """Return the change of a pass to an operation, in one line."""
    step, kinds = event.step, ", ".join(event.change.names)
    return one_line(f"{step.number:>3}  {step.stage:<5}  {step.name}: {kinds}  {event.text}")


def _difference(difference: PassDifference) -> Iterator[Line]:
    divergence = difference.divergence
    what = f"{divergence.place}: {divergence.summary}" if divergence else "equal in both"
    yield Line(f"{difference.kind:<10}  {what}", 1, fit="cut")
    if divergence is not None:
        for side, lines in (("A", difference.a), ("B", difference.b)):
            yield from (Line(f"{side}  {line}", 2, fit="cut") for line in lines)


def _cells(line: PassLine, pair: bool) -> Iterator[list[str]]:
    step = line.step
    sides = (line.a, line.b) if pair else (line.a,)
    times = [f"{side.seconds * 1e3:.2f}" if side else "" for side in sides]
    head = [str(step.number), step.stage, step.name or "(Triton itself)", *times]
    left, right = _effect(line, 0), _effect(line, 1)
    if not pair or left == right:
        yield [*head, left]
        return
    effects = [f"{side}  {text}" for side, text in (("A", left), ("B", right)) if text]
    yield [*head, effects[0]]
    for effect in effects[1:]:
        yield [""] * len(head) + [effect]


def _effect(line: PassLine, index: int) -> str:
    """Return the effect of the pass in A (0) or in B (1)."""
    if (line.a, line.b)[index] is None:
        return ""
    if line.touched is not None:
        return counts_text(line.touched[index])
    return one_line(line.effects[index] if line.effects else "") or _UNCHANGED


def llvm_content(report: LlvmReport) -> Iterator[Block]:
    """Yield a row per pass of LLVM, then what ptxas says."""
    yield variant_name(report.variant, report.name)
    yield Line(f"   {pluralize(report.total, 'LLVM pass')}, {report.changed} changed the module")
    rows = [
        (
            str(number),
            llvm_pass.stage,
            llvm_pass.flag or llvm_pass.name,
            "" if llvm_pass.seconds is None else f"{llvm_pass.seconds * 1000:.2f}",
            effect_text(llvm_pass),
        )
        for number, llvm_pass in report.passes
    ]
    yield Table.from_rows(rows, ["#", "stage", "pass", "ms", "effect"], "><<><", (3, 6, 0, 6), gap=True)
    for function, statistics in report.functions:
        yield Line(f"ptxas: {function}: {statistics}")
    for warning in report.advice:
        yield Line(f"ptxas: {warning}")
