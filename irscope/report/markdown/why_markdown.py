"""`irscope why --format markdown`: for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irscope.model.text import code, markdown_escaped
from irscope.workspace import Comparison, Compilations, TextLine, compilation_lines, pair_lines, without_rest


def why_markdown(comparison: Comparison, all_findings: bool) -> Iterator[str]:
    """The lines of the report on two variants, with all findings or the most important ones."""
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        heading = code(comparison.heading(index))
        yield f"- {side}: {heading} {code(variant.kernel.name)} {variant.target}"
    yield ""
    lines = pair_lines(comparison)
    yield from _list(lines if all_findings else without_rest(lines, ": --all-findings"))


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
