"""`irscope why --format markdown`: for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irscope.model.text import code, markdown_escaped
from irscope.report.terminal.why_text import MAX_FINDINGS, short_list
from irscope.workspace import Comparison, Compilations, TextLine, compilation_lines, pair_lines


def why_markdown(comparison: Comparison) -> Iterator[str]:
    """The lines of the report on two variants."""
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        heading = code(comparison.heading(index))
        yield f"- {side}: {heading} {code(variant.kernel.name)} {variant.target}"
    yield ""
    yield from _list(short_list(pair_lines(comparison), MAX_FINDINGS))


def compilations_markdown(kernels: Sequence[Compilations]) -> Iterator[str]:
    """The lines of the report on a whole capture."""
    yield from _list(compilation_lines(kernels))


def _list(lines: Iterable[TextLine]) -> Iterator[str]:
    """A bold line for each title, a nested list for the sentences below it."""
    for index, line in enumerate(lines):
        text = markdown_escaped(line.text)
        if line.title:
            yield from (*([""] if index else []), f"**{text}**", "")
        else:
            yield f"{'  ' * (line.level - 1)}- {text}"
