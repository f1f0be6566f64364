"""`irscope passes` for a person: where two variants part, then a line for each pass."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.divergence import KINDS, Divergence, Divergences
from irscope.analysis.pass_history import Documents, PassStep, summary
from irscope.model.text import clipped, one_line, pluralize
from irscope.report.hunks import kinds_of
from irscope.report.passes import Pair, PassReport, PassSummary
from irscope.report.terminal.paint import Paint

_SAME = "="


def passes_text(report: PassReport, document: Documents, width: int | None, paint: Paint) -> Iterator[str]:
    """The lines of the report, cut at `width` columns (None: whole)."""
    for side, variant, name in zip("AB", report.variants, report.names, strict=False):
        text = f"#{variant.id} {name}  {variant.kernel.name}  {variant.target}"
        yield paint(side, "heading") + one_line(f"  {text}")
    yield _totals(report)
    if report.partings is not None:
        yield ""
        yield paint("Where they part", "heading")
        yield from (_cut(line, width) for line in parting_lines(report.partings, document))
    yield ""
    yield from _table(report, width, paint)


def parting_lines(found: Divergences, document: Documents) -> Iterator[str]:
    """Each way in which the two differ: from which pass on, and what that did in A and in B."""
    for kind in KINDS:
        parting: Divergence | None = getattr(found, kind)
        if parting is None:
            yield f"  {kind:<10}  the same in both"
            continue
        yield f"  {kind:<10}  {parting.place}: {parting.summary}"
        for side, steps in zip(
            "AB", (parting.moment.a, parting.moment.b) if parting.moment else (), strict=False
        ):
            for step in steps:
                yield f"    {side}  {_did(step, document)}"


def _did(step: PassStep, document: Documents) -> str:
    options = f" ({step.options})" if step.options else ""
    return f"{step.name}{options}: {summary(step, document) or 'nothing'}"


def _totals(report: PassReport) -> str:
    steps = report.total
    changed = sum(step.changed for step in steps)
    seconds = sum(step.seconds for step in steps)
    shown = "" if len(report.rows) >= len(steps) else f"; {len(report.rows)} shown"
    return f"   {pluralize(len(steps), 'pass')}, {changed} changed the module, {seconds:.2f} s{shown}"


def _table(report: PassReport, width: int | None, paint: Paint) -> Iterator[str]:
    both = len(report.variants) > 1
    heads = (
        ["#", "stage", "pass", "ms A", "ms B", "what it did"]
        if both
        else ["#", "stage", "pass", "ms", "what it did"]
    )
    rows = [cells for pair in report.rows for cells in _cells(pair, both)]
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads) - 1)]
    for index, row in enumerate([heads, *rows]):
        cells = [
            cell.rjust(size) if head == "#" or head.startswith("ms") else cell.ljust(size)
            for cell, size, head in zip(row, widths, heads, strict=False)
        ]
        line = _cut("  ".join([*cells, row[-1]]), width).rstrip()
        yield paint(line, "heading" if index == 0 else "dim" if row[-1] == _SAME else "")
    if not rows:
        yield "  none"


def _cells(pair: Pair, both: bool) -> Iterator[list[str]]:
    a, b = pair
    step = a.step if a else b.step if b else None
    if step is None:
        return
    times = [f"{told.step.seconds * 1e3:.2f}" if told else "" for told in (pair if both else (a,))]
    head = [str(step.number), step.stage, one_line(step.name or "(Triton itself)"), *times]
    left, right = (_what(told) for told in pair)
    if not both or left == right:
        yield [*head, left]
        return
    lines = [f"{side}  {text}" for side, text in (("A", left), ("B", right)) if text]
    yield [*head, lines[0]]
    for line in lines[1:]:
        yield [""] * len(head) + [line]


def _what(told: PassSummary | None) -> str:
    if told is None:
        return ""
    if told.touched is not None:
        return ", ".join(f"{n:,} {word}" for kind, n in told.touched.items() for word in kinds_of(kind))
    return one_line(told.summary) or _SAME


def _cut(line: str, width: int | None) -> str:
    line = one_line(line)
    return line if width is None else clipped(line, width)
