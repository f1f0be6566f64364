"""`irscope diff --format markdown`: for an issue or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from irscope.model.text import code, markdown_escaped, pluralize
from irscope.report.pair_report import PairReport
from irscope.report.terminal.rows_text import unified
from irscope.workspace import summarize


def diff_markdown(pair: PairReport, context: int) -> Iterator[str]:
    """The lines of the report; the rows are in a diff block, which a page can fold."""
    yield from pair_summary(pair, len(pair.comparison.findings))
    for name in pair.shown:
        yield from folded(name, list(unified(pair.diffs[name], context, strict=True)))


def pair_summary(pair: PairReport, most: int) -> Iterator[str]:
    """The two variants, at most `most` findings, and a line per stage."""
    comparison = pair.comparison
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        heading = code(comparison.heading(index))
        yield f"- {side}: {heading} {code(variant.kernel.name)} {variant.target}"
    yield ""
    shown = comparison.findings[:most]
    yield from (f"{number}. {markdown_escaped(finding.text)}" for number, finding in enumerate(shown, 1))
    if len(comparison.findings) > most:
        yield f"\n{pluralize(len(comparison.findings) - most, 'smaller finding')} omitted."
    yield ""
    yield "| stage | A to B |"
    yield "| --- | --- |"
    for name, diff in pair.diffs.items():
        yield f"| {name} | {markdown_escaped(summarize(diff))} |"


def folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """A unified diff in a block that a page can fold, fenced so that its lines cannot end the block."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from ("", f"<details><summary>{title}</summary>", "", f"{fence}diff", *lines, fence)
    yield from ("", "</details>")
