"""`irscope diff --format markdown`: the report for an issue or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irscope.diff.summary import summarize
from irscope.report.comparison import Comparison, heading
from irscope.report.diff_rows import unified
from irscope.report.text import code, markdown_escaped


def diff_markdown(comparison: Comparison, context: int) -> Iterator[str]:
    """The lines of the report; the rows stand in a diff block, folded where a page can fold."""
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        yield f"- {side}: {code(heading(comparison, index))} {code(variant.kernel.name)} {variant.target}"
    yield ""
    yield from (
        f"{number}. {markdown_escaped(finding.text)}" for number, finding in enumerate(comparison.findings, 1)
    )
    yield ""
    yield "| stage | A to B |"
    yield "| --- | --- |"
    for name, diff in comparison.diffs.items():
        yield f"| {name} | {markdown_escaped(summarize(diff))} |"
    for name in comparison.shown:
        lines = list(unified(comparison.diffs[name], context, strict=True))
        longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
        fence = "`" * max(3, longest + 1)
        yield from ("", f"<details><summary>{name}</summary>", "", f"{fence}diff", *lines, fence)
        yield from ("", "</details>")
