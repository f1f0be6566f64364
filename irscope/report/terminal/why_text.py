"""`irscope why` for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irscope.model.text import one_line
from irscope.report.terminal.styles import Paint
from irscope.workspace import Comparison, Compilations, TextLine, compilation_lines, pair_lines, without_rest

_INDENT = "  "


def why_text(comparison: Comparison, all_findings: bool, paint: Paint) -> Iterator[str]:
    """The lines of the report on two variants, with all findings or the most important ones."""
    for index, side in enumerate("AB"):
        yield paint(side, "heading") + one_line(f"  {comparison.describe(index)}")
    yield ""
    lines = pair_lines(comparison)
    yield from _laid_out(lines if all_findings else without_rest(lines, ": --all-findings"), paint)


def compilations_text(kernels: Sequence[Compilations], paint: Paint) -> Iterator[str]:
    """The lines of the report on a whole capture."""
    yield from _laid_out(compilation_lines(kernels), paint)


def _laid_out(lines: Iterable[TextLine], paint: Paint) -> Iterator[str]:
    for index, line in enumerate(lines):
        if line.title:
            if index:
                yield ""
            yield paint(one_line(line.text), "heading")
        else:
            number = "" if line.rank is None else f"{line.rank}. "
            yield one_line(f"{_INDENT * line.level}{number}{line.text}")
