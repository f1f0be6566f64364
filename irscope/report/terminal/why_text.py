"""`irscope why` for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irscope.model.text import one_line
from irscope.report.terminal.styles import Paint
from irscope.workspace import Comparison, Compilations, TextLine, compilation_lines, pair_lines

# The JSON has all.
MAX_FINDINGS = 8
_INDENT = "  "


def why_text(comparison: Comparison, paint: Paint) -> Iterator[str]:
    """The lines of the report on two variants."""
    for index, side in enumerate("AB"):
        yield paint(side, "heading") + one_line(f"  {comparison.describe(index)}")
    yield ""
    yield from _laid_out(short_list(pair_lines(comparison), MAX_FINDINGS), paint)


def compilations_text(kernels: Sequence[Compilations], paint: Paint) -> Iterator[str]:
    """The lines of the report on a whole capture."""
    yield from _laid_out(compilation_lines(kernels), paint)


def short_list(lines: Sequence[TextLine], most: int) -> Iterator[TextLine]:
    """The lines without the findings after the first `most`; a line at their place counts them."""
    omitted = sum(line.rank is not None and line.rank > most for line in lines)
    for line in lines:
        if line.rank is None or line.rank <= most:
            yield line
        elif line.rank == most + 1:
            yield TextLine(f"{omitted} smaller findings are omitted; --format json has all")


def _laid_out(lines: Iterable[TextLine], paint: Paint) -> Iterator[str]:
    for index, line in enumerate(lines):
        if line.title:
            if index:
                yield ""
            yield paint(one_line(line.text), "heading")
        else:
            number = "" if line.rank is None else f"{line.rank}. "
            yield one_line(f"{_INDENT * line.level}{number}{line.text}")
