"""A pair of variants: its findings, the Python, and the diff of each stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice

from irscope.model.text import clipped, pluralize
from irscope.report.html.diff_payload import diff_payload
from irscope.report.html.explanation import explanation, layouts_of
from irscope.report.html.facts_table import variant_anchor
from irscope.report.html.markup import Html, element, joined
from irscope.report.html.source_table import source_tables
from irscope.report.pair_report import PairReport
from irscope.report.terminal.rows_text import unified
from irscope.workspace import (
    Evidence,
    Finding,
    StageDiff,
    first_structural,
    listings,
    short_label,
    summarize,
)

# The lines of a stage, and the length of a line, in a browser without scripts.
_PLAIN_LINES = 80
_PLAIN_WIDTH = 240
_CONTEXT = 3


def pair_anchor(number: int) -> str:
    """The id of the section of a pair."""
    return f"pair{number}"


def pair_section(pair: PairReport, number: int, title: str, left_out: Sequence[str] = ()) -> Html:
    """The section of pair `number`, without the data of its stages; `left_out` are those without room."""
    anchor = pair_anchor(number)
    single = pair.comparison.single
    sources = listings(*pair.comparison.variants)
    first = first_structural(pair.diffs[name] for name in pair.shown if name in pair.comparison.stages)
    opened = first.stage if first else pair.shown[0] if single and pair.shown else None
    python = element("div", element("h3", "Python"), *(source_tables(pair, one, anchor) for one in sources))
    why = [] if single else [element("div", *explanation(pair, anchor, _findings(pair, anchor)))]
    return element(
        "section",
        element("h2", "Variant " if single else f"Pair {number}: ", element("code", title)),
        element("p", *(_side(pair, index) for index in ((0,) if single else (0, 1))), class_="sides"),
        element("div", *why, python, class_=None if single else "side-by-side"),
        *layouts_of(pair),
        element("h3", "Stages"),
        *(_stage(pair.diffs[name], anchor, name == opened, single) for name in pair.shown),
        *_no_stages(pair, left_out),
        id=anchor,
        class_="pair single" if single else "pair",
    )


def _no_stages(pair: PairReport, left_out: Sequence[str]) -> Iterable[Html]:
    """Why stages are missing."""
    if left_out:
        a, b = (variant.id for variant in pair.comparison.variants)
        stages = ", ".join(left_out)
        text = f"Left out, because the page would be too large: {stages}. "
        command = f"irscope report CAPTURE --pair '#{a}' '#{b}' --stage {','.join(left_out)}"
        yield element("p", text, element("code", command), class_="left-out")
    elif not pair.shown:
        failed = any(variant.failure for variant in pair.comparison.variants)
        yield element("p", "A variant that failed has no stages." if failed else "No stage was chosen.")


def pair_data(pair: PairReport, number: int) -> Iterable[Html]:
    """The data of the pair's stages, for the script."""
    sources = listings(*pair.comparison.variants)
    ids = sources[0].ids, sources[-1].ids
    for name in pair.shown:
        yield diff_payload(f"{pair_anchor(number)}-{name}-data", pair.diffs[name], ids)


def _side(pair: PairReport, index: int) -> Html:
    variant = pair.comparison.variants[index]
    failed = f" failed: {variant.failure.kind}" if variant.failure else ""
    return element(
        "span",
        *([] if pair.comparison.single else letter(index)),
        element("a", pair.comparison.heading(index), href=f"#{variant_anchor(variant.id)}"),
        f" {variant.kernel.name} {variant.target}",
        element("span", failed, class_="bad"),
        class_="side",
    )


def letter(index: int) -> list[Html]:
    """The sign of A (0) or B (1)."""
    return [element("b", "AB"[index], class_=f"letter {'ab'[index]}"), Html(" ")]


def _findings(pair: PairReport, anchor: str) -> Html:
    found = [_finding(finding, pair, anchor) for finding in pair.comparison.findings]
    if not found:
        return element("p", "None: no fact differs.")
    most = len(pair.comparison.main_findings)
    shown, rest = element("ol", *found[:most], class_="findings"), found[most:]
    if not rest:
        return shown
    more = element("ol", *rest, class_="findings", start=most + 1)
    return joined([shown, element("details", element("summary", pluralize(len(rest), "more finding")), more)])


def _finding(finding: Finding, pair: PairReport, anchor: str) -> Html:
    links = [
        link
        for side, evidence in (("A", finding.evidence_a), ("B", finding.evidence_b))
        for link in _links(side, evidence, pair.shown, anchor)
    ]
    return element("li", finding.text, *(part for link in links for part in (Html(" "), link)))


def _links(side: str, evidence: Sequence[Evidence], shown: Sequence[str], anchor: str) -> Iterable[Html]:
    """A link per stage that has lines of evidence."""
    ordered = sorted({(line.stage, line.line + 1) for line in evidence if line.stage in shown})
    for stage, places in groupby(ordered, key=lambda place: place[0]):
        lines = [line for _, line in places]
        text = f"line {lines[0]}" if len(lines) == 1 else f"{len(lines)} lines"
        yield element(
            "a",
            f"{side} {stage} {text}",
            href=f"#{anchor}-{stage}-{side.lower()}{lines[0]}",
            class_=f"proof {side.lower()}",
            data_lines=_ranges(lines),
        )


def _ranges(lines: Sequence[int]) -> str:
    """`12-15,20` for 12, 13, 14, 15, 20."""
    runs = groupby(enumerate(lines), key=lambda pair: pair[1] - pair[0])
    ends = [[line for _, line in run] for _, run in runs]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in ends)


def _stage(diff: StageDiff, anchor: str, opened: bool, single: bool = False) -> Html:
    """A stage, folded. The script fills in its rows; without it, the first rows are shown."""
    identity = f"{anchor}-{diff.stage}"
    lines = [len(document.text.rstrip().split("\n")) for document in (diff.left, diff.right)]
    compared = [
        element("span", short_label(diff), class_="label"),
        " ",
        element("span", summarize(diff), class_="quiet"),
        element("span", f", of {lines[0]:,} and {lines[1]:,} lines", class_="quiet"),
    ]
    number = element("span", pluralize(lines[0], "line"), class_="quiet")
    title = element("summary", element("b", diff.stage), " ", *([number] if single else compared))
    view = element("div", class_="view")
    plain = element("noscript", _plain_text(diff) if single else _plain(diff))
    return element("details", title, view, plain, id=identity, class_="stage", open=opened)


def _plain_text(diff: StageDiff) -> Html:
    """The first lines of a stage that is not compared."""
    lines = diff.left.text.rstrip().split("\n")
    shown = [f"{clipped(line, _PLAIN_WIDTH)}\n" for line in lines[:_PLAIN_LINES]]
    note = element("p", f"The first {_PLAIN_LINES} lines; enable JavaScript or use irscope show.")
    return joined([element("pre", *shown, class_="plain"), note if len(shown) < len(lines) else Html()])


def _plain(diff: StageDiff) -> Html:
    if diff.equal:
        return element("p", "Equal except for names and locations.")
    signs = {"-": "removed", "+": "added", "@": "hunk"}
    shown = [
        element("span", f"{clipped(line, _PLAIN_WIDTH)}\n", class_=signs.get(line[:1]))
        for line in islice(unified(diff, _CONTEXT, strict=True), _PLAIN_LINES)
    ]
    cut = len(shown) == _PLAIN_LINES
    note = element(
        "p", f"The first {_PLAIN_LINES} lines; enable JavaScript or use irscope diff to see the others."
    )
    return joined([element("pre", *shown, class_="plain"), note if cut else Html()])
