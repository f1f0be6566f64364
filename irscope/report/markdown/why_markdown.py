"""`irscope why --format markdown`: for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.model.text import code, markdown_escaped
from irscope.report.terminal.why_text import avoid_lines, effect_lines, reason_lines
from irscope.workspace import Comparison, Compilations, compilation_summary, compilation_totals


def why_markdown(comparison: Comparison) -> Iterator[str]:
    """The lines of the report on two variants."""
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        heading = code(comparison.heading(index))
        yield f"- {side}: {heading} {code(variant.kernel.name)} {variant.target}"
    for title, lines in (
        ("Why it was compiled again", reason_lines(comparison)),
        ("Effects", effect_lines(comparison)),
    ):
        yield from ("", f"**{title}**", "")
        yield from (f"- {markdown_escaped(line)}" for line in lines)
    yield from ("", f"**Was it worth it**: {markdown_escaped(comparison.verdict)}", "")
    yield from (f"- {markdown_escaped(line)}" for line in avoid_lines(comparison))


def compilations_markdown(kernels: Sequence[Compilations]) -> Iterator[str]:
    """The lines of the report on a whole capture."""
    for kernel in kernels:
        yield from (f"### {code(kernel.kernel)}", "", markdown_escaped(compilation_totals(kernel)), "")
        yield from (f"- {markdown_escaped(line.strip())}" for line in compilation_summary(kernel))
        yield ""
