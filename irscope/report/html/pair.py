"""A pair of variants: what matters about it in words, the Python, and the diff of each stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice

from irscope.analysis.finding import Finding
from irscope.diff.rows import StageDiff
from irscope.diff.summary import first_structural, short_label, summarize
from irscope.facts.fact import Evidence
from irscope.model.text import clipped, pluralize
from irscope.report.html.markup import Html, element, joined
from irscope.report.html.packed import packed
from irscope.report.html.source import Listing, listings, source_table
from irscope.report.html.table import variant_anchor
from irscope.report.pair_report import PairReport, heading
from irscope.report.terminal.diff_rows import unified

# More sentences than one reads; the rest is folded.
_MOST_FINDINGS = 10
# What a browser without scripts is shown of a stage, and how much of a line.
_PLAIN_LINES = 80
_PLAIN_WIDTH = 240
_CONTEXT = 3


def pair_anchor(number: int) -> str:
    """The id of a pair's section."""
    return f"pair{number}"


def pair_section(comparison: PairReport, number: int, title: str) -> Html:
    """Everything of the pair with that number, but for the data of its stages."""
    anchor = pair_anchor(number)
    sources = listings(comparison)
    first = first_structural(comparison.diffs[name] for name in comparison.shown)
    return element(
        "section",
        element("h2", f"Pair {number}: ", element("code", title)),
        element("p", *(_side(comparison, index) for index in (0, 1)), class_="sides"),
        element(
            "div",
            element("div", element("h3", "Findings"), _findings(comparison, anchor)),
            element("div", element("h3", "Python"), *(_source(comparison, one, anchor) for one in sources)),
            class_="beside",
        ),
        element("h3", "Stages"),
        *(
            _stage(comparison.diffs[name], anchor, first is not None and name == first.stage)
            for name in comparison.shown
        ),
        id=anchor,
        class_="pair",
    )


def pair_data(comparison: PairReport, number: int) -> Iterable[Html]:
    """The data of its stages, for the script."""
    sources = listings(comparison)
    ids = sources[0].ids, sources[-1].ids
    for name in comparison.shown:
        yield packed(f"{pair_anchor(number)}-{name}-data", comparison.diffs[name], ids)


def _side(comparison: PairReport, index: int) -> Html:
    variant = comparison.variants[index]
    failed = f" failed: {variant.failure.kind}" if variant.failure else ""
    return element(
        "span",
        element("b", "AB"[index], class_=f"letter {'ab'[index]}"),
        " ",
        element("a", heading(comparison, index), href=f"#{variant_anchor(variant.id)}"),
        f" {variant.kernel.name} {variant.target}",
        element("span", failed, class_="bad"),
    )


def _findings(comparison: PairReport, anchor: str) -> Html:
    found = [_finding(finding, comparison, anchor) for finding in comparison.findings]
    if not found:
        return element("p", "None: no fact differs.")
    shown = element("ol", *found[:_MOST_FINDINGS], class_="findings")
    rest = found[_MOST_FINDINGS:]
    if not rest:
        return shown
    more = element("ol", *rest, class_="findings", start=_MOST_FINDINGS + 1)
    return joined([shown, element("details", element("summary", pluralize(len(rest), "smaller one")), more)])


def _finding(finding: Finding, comparison: PairReport, anchor: str) -> Html:
    links = [
        link
        for side, evidence in (("A", finding.evidence_a), ("B", finding.evidence_b))
        for link in _links(side, evidence, comparison.shown, anchor)
    ]
    return element("li", finding.text, *(part for link in links for part in (Html(" "), link)))


def _links(side: str, evidence: Sequence[Evidence], shown: Sequence[str], anchor: str) -> Iterable[Html]:
    """A link for each stage of which some lines prove it."""
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


def _source(comparison: PairReport, listing: Listing, anchor: str) -> Html:
    sides = "" if listing.sides == "AB" else f" of {listing.sides}"
    return element(
        "div",
        source_table(comparison, listing, anchor),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=f"Python{sides}, with what each line became",
    )


def _stage(diff: StageDiff, anchor: str, opened: bool) -> Html:
    """A stage, folded; the script fills in its rows, without it stands what fits of them."""
    identity = f"{anchor}-{diff.stage}"
    lines = [len(document.text.rstrip().split("\n")) for document in (diff.left, diff.right)]
    title = element(
        "summary",
        element("b", diff.stage),
        " ",
        element("span", short_label(diff), class_="label"),
        " ",
        element("span", summarize(diff), class_="quiet"),
        element("span", f", of {lines[0]:,} and {lines[1]:,} lines", class_="quiet"),
    )
    view = element("div", class_="view")
    return element(
        "details", title, view, element("noscript", _plain(diff)), id=identity, class_="stage", open=opened
    )


def _plain(diff: StageDiff) -> Html:
    if diff.equal:
        return element("p", "Equal but for names and locations.")
    signs = {"-": "removed", "+": "added", "@": "hunk"}
    shown = [
        element("span", f"{clipped(line, _PLAIN_WIDTH)}\n", class_=signs.get(line[:1]))
        for line in islice(unified(diff, _CONTEXT, strict=True), _PLAIN_LINES)
    ]
    cut = len(shown) == _PLAIN_LINES
    note = element("p", f"The first {_PLAIN_LINES} lines; JavaScript or irscope diff shows the others.")
    return joined([element("pre", *shown, class_="plain"), note if cut else Html()])
