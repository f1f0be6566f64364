"""`irscope diff --format markdown`: for an issue or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from irscope.model.text import code, markdown_escaped, pluralize
from irscope.report.pair_report import PairReport
from irscope.report.terminal.diff_text import DiffOptions, more_rows
from irscope.report.terminal.rows_text import unified
from irscope.workspace import summarize


def diff_markdown(pair: PairReport, options: DiffOptions) -> Iterator[str]:
    """The lines of the report; the rows are in a diff block, which a page can fold."""
    yield from pair_summary(pair, options.all_findings)
    for name in pair.shown:
        rows = list(unified(pair.diffs[name], options.context, strict=True))
        shown = rows[: options.rows]
        yield from folded(name, [*shown, *more_rows(len(rows) - len(shown))])


def pair_summary(pair: PairReport, all_findings: bool = False) -> Iterator[str]:
    """The two variants, the findings (those that are not shown by default folded), and a line per stage."""
    comparison = pair.comparison
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        heading = code(comparison.heading(index))
        yield f"- {side}: {heading} {code(variant.kernel.name)} {variant.target}"
    yield from (f"- {markdown_escaped(origin)}" for origin in comparison.origins)
    yield ""
    items = [f"{number}. {markdown_escaped(f.text)}" for number, f in enumerate(comparison.findings, 1)]
    shown = len(items) if all_findings else len(comparison.main_findings)
    yield from items[:shown]
    if rest := items[shown:]:
        yield from ("", f"<details><summary>{pluralize(len(rest), 'more finding')}</summary>", "")
        yield from (*rest, "", "</details>")
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
