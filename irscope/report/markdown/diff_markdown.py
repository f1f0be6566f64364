"""`irscope diff --format markdown`: the report for an issue or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from irscope.diff.summary import summarize
from irscope.model.text import code, markdown_escaped
from irscope.report.pair_report import PairReport, heading
from irscope.report.terminal.diff_rows import unified


def diff_markdown(comparison: PairReport, context: int) -> Iterator[str]:
    """The lines of the report; the rows stand in a diff block, folded where a page can fold."""
    yield from in_words(comparison, len(comparison.findings))
    for name in comparison.shown:
        yield from folded(name, list(unified(comparison.diffs[name], context, strict=True)))


def in_words(comparison: PairReport, most: int) -> Iterator[str]:
    """What the sides are, at most so many findings, and each stage in a line."""
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        yield f"- {side}: {code(heading(comparison, index))} {code(variant.kernel.name)} {variant.target}"
    yield ""
    shown = comparison.findings[:most]
    yield from (f"{number}. {markdown_escaped(finding.text)}" for number, finding in enumerate(shown, 1))
    if len(comparison.findings) > most:
        yield f"\n{len(comparison.findings) - most} smaller ones are left out."
    yield ""
    yield "| stage | A to B |"
    yield "| --- | --- |"
    for name, diff in comparison.diffs.items():
        yield f"| {name} | {markdown_escaped(summarize(diff))} |"


def folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines of a unified diff in a block that a page can fold, whatever is in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from ("", f"<details><summary>{title}</summary>", "", f"{fence}diff", *lines, fence)
    yield from ("", "</details>")
