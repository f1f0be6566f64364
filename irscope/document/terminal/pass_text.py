"""`irscope passes` for a person: the diverging pass of two variants, then a line per pass.

`irscope passes --llvm` for a person: a line per pass of LLVM, then what ptxas says.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.document.terminal.row_text import rows_text
from irscope.document.terminal.styles import Paint
from irscope.model.text import clipped, one_line, pluralize
from irscope.workspace import PassChange, PassLine, summarize
from irscope.workspace.diff_rows import change_names, counts_text
from irscope.workspace.pass_comparison import (
    LlvmReport,
    OperationEvent,
    PassDifference,
    PassReport,
    effect_text,
)

_UNCHANGED = "="


def passes_text(report: PassReport, width: int | None, paint: Paint) -> Iterator[str]:
    """Yield the lines of the report, cut at `width` columns (None: whole)."""
    for side, variant, name in zip("AB", report.variants, report.names, strict=False):
        text = f"#{variant.id} {name}  {variant.kernel.name}  {variant.target}"
        yield paint(side, "heading") + one_line(f"  {text}")
    yield _totals(report)
    if report.differences is not None:
        yield ""
        yield paint("Where they diverge", "heading")
        for difference in report.differences:
            yield from (_cut(line, width) for line in _difference(difference))
    yield ""
    yield from _table(report, width, paint)


def pass_change_text(change: PassChange, width: int | None, context: int, paint: Paint) -> Iterator[str]:
    """Yield the changes of a pass: a heading, then the rows."""
    step, diff = change.step, change.diff
    what = change.note if diff is None else summarize(diff)
    between = ", A and B after it" if change.between else ""
    yield paint(one_line(f"{step.number} {step.name} ({step.stage}){between}: {what}"), "heading")
    if diff is not None:
        yield from rows_text(diff, width, context, paint)


def operation_text(event: OperationEvent) -> str:
    """Return the change of a pass to an operation, in one line."""
    step, kinds = event.step, ", ".join(change_names(event.change))
    return one_line(f"{step.number:>3}  {step.stage:<5}  {step.name}: {kinds}  {event.text}")


def _difference(difference: PassDifference) -> Iterator[str]:
    divergence = difference.divergence
    if divergence is None:
        yield f"  {difference.kind:<10}  equal in both"
        return
    yield f"  {difference.kind:<10}  {divergence.place}: {divergence.summary}"
    for side, lines in (("A", difference.a), ("B", difference.b)):
        yield from (f"    {side}  {line}" for line in lines)


def _totals(report: PassReport) -> str:
    steps = report.steps
    changed = sum(step.changed for step in steps)
    seconds = sum(step.seconds for step in steps)
    listed = "" if len(report.lines) >= len(steps) else f"; {len(report.lines)} shown"
    return f"   {pluralize(len(steps), 'pass')}, {changed} changed the module, {seconds:.2f} s{listed}"


def _table(report: PassReport, width: int | None, paint: Paint) -> Iterator[str]:
    pair = len(report.variants) > 1
    headings = ["#", "stage", "pass", *(["ms A", "ms B"] if pair else ["ms"]), "effect"]
    rows = [cells for line in report.lines for cells in _cells(line, pair)]
    widths = [max(len(row[column]) for row in [headings, *rows]) for column in range(len(headings) - 1)]
    for index, row in enumerate([headings, *rows]):
        cells = [
            cell.rjust(size) if heading == "#" or heading.startswith("ms") else cell.ljust(size)
            for cell, size, heading in zip(row, widths, headings, strict=False)
        ]
        line = _cut("  ".join([*cells, row[-1]]), width).rstrip()
        yield paint(line, "heading" if index == 0 else "dim" if row[-1] == _UNCHANGED else "")
    if not rows:
        yield "  none"


def _cells(line: PassLine, pair: bool) -> Iterator[list[str]]:
    step = line.step
    sides = (line.a, line.b) if pair else (line.a,)
    times = [f"{side.seconds * 1e3:.2f}" if side else "" for side in sides]
    head = [str(step.number), step.stage, one_line(step.name or "(Triton itself)"), *times]
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


def _cut(line: str, width: int | None) -> str:
    line = one_line(line)
    return line if width is None else clipped(line, width)


def llvm_text(report: LlvmReport, width: int | None, paint: Paint) -> Iterator[str]:
    """Yield the lines of the report, cut at `width` columns (None: whole)."""
    variant = report.variant
    yield one_line(f"#{variant.id} {report.name}  {variant.kernel.name}  {variant.target}")
    yield f"   {pluralize(report.total, 'LLVM pass')}, {report.changed} changed the module"
    yield ""
    names = [llvm_pass.flag or llvm_pass.name for _, llvm_pass in report.passes]
    wide = max(map(len, names), default=4)
    yield paint(f"{'#':>3}  {'stage':<6}  {'pass':<{wide}}  {'ms':>6}  effect", "heading")
    for (number, llvm_pass), name in zip(report.passes, names, strict=True):
        ms = "" if llvm_pass.seconds is None else f"{llvm_pass.seconds * 1000:.2f}"
        line = one_line(
            f"{number:>3}  {llvm_pass.stage:<6}  {name:<{wide}}  {ms:>6}  {effect_text(llvm_pass)}"
        )
        yield clipped(line, width) if width else line
    for function, statistics in report.functions:
        yield one_line(f"ptxas: {function}: {statistics}")
    for warning in report.advice:
        yield one_line(f"ptxas: {warning}")
