"""`irscope passes --llvm` for a person: a line per pass of LLVM, then what ptxas says."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.model.text import clipped, one_line, pluralize
from irscope.report.terminal.styles import Paint
from irscope.workspace import LlvmReport, effect_text


def llvm_text(report: LlvmReport, width: int | None, paint: Paint) -> Iterator[str]:
    """The lines of the report, cut at `width` columns (None: whole)."""
    variant = report.variant
    yield one_line(f"#{variant.id} {report.name}  {variant.kernel.name}  {variant.target}")
    yield f"   {pluralize(report.total, 'LLVM pass')}, {report.changed} changed the module"
    yield ""
    names = [each.flag or each.name for _, each in report.passes]
    wide = max(map(len, names), default=4)
    yield paint(f"{'#':>3}  {'stage':<6}  {'pass':<{wide}}  {'ms':>6}  effect", "heading")
    for (number, each), name in zip(report.passes, names, strict=True):
        ms = "" if each.seconds is None else f"{each.seconds * 1000:.2f}"
        line = one_line(f"{number:>3}  {each.stage:<6}  {name:<{wide}}  {ms:>6}  {effect_text(each)}")
        yield clipped(line, width) if width else line
    for function, statistics in report.functions:
        yield one_line(f"ptxas: {function}: {statistics}")
    for warning in report.advice:
        yield one_line(f"ptxas: {warning}")
