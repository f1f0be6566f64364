"""A pair of variants: why B was compiled after A, the findings, the Python, layouts, and diffs of stages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

from irscope.document.html.facts_table import variant_anchor
from irscope.document.html.layout_svg import layout_svg
from irscope.document.html.markup import Html, element, highlighted, joined, payload, table
from irscope.document.html.timeline_svg import timeline_svg
from irscope.document.report_content import PairExplanation, PairReport, ValueDrawing
from irscope.document.terminal.row_text import unified
from irscope.model.kernel_timeline import KernelTimeline
from irscope.model.text import base_name, clipped, pluralize
from irscope.workspace import (
    Change,
    Comparison,
    Evidence,
    Finding,
    InstructionKind,
    LayoutDrawing,
    PythonLine,
    Row,
    RowSide,
    SourcePlace,
    StageDiff,
    TextLine,
)
from irscope.workspace.diff_rows import row_sides, rows_in_place
from irscope.workspace.source_lines import (
    InstructionCounts,
    Listing,
    assembly_stage,
    instruction_counts,
    listings,
    source_chains,
)
from irscope.workspace.timeline_text import timeline_texts
from irscope.workspace.variant_texts import PYTHON


def explanation(pair: PairReport, anchor: str, findings: Html) -> Iterator[Html]:
    """Yield the sentences about a pair in three parts; `findings` is the second one."""
    sentences = pair.explanation or PairExplanation()
    yield from _part(pair, sentences.reasons, anchor)
    yield element("h3", "What changed")
    yield findings
    yield from _part(pair, sentences.worth, anchor)


def _part(pair: PairReport, lines: Sequence[TextLine], anchor: str) -> Iterator[Html]:
    """Yield a title, then a list; sentences of a deeper level are a list in the item before them."""
    items: list[tuple[Html, list[Html]]] = []
    for line in lines:
        if line.title:
            yield element("h3", line.text)
        elif line.level > 1 and items:
            items[-1][1].append(element("li", _sentence(pair, line, anchor)))
        else:
            items.append((_sentence(pair, line, anchor), []))
    if items:
        nested = (element("li", text, element("ul", *more) if more else Html()) for text, more in items)
        yield element("ul", *nested, class_="why")


def _sentence(pair: PairReport, line: TextLine, anchor: str) -> Html:
    target = line.target
    if target is None or target.stage != PYTHON:
        return joined([line.text])
    source = listings(*pair.comparison.variants)[-1 if target.right else 0]
    if target.line >= len(source.source.lines):
        return joined([line.text])
    number = source.source.lines[target.line].number
    link = element("a", f"line {number}", href=f"#{anchor}-s{source.first + target.line}", class_="proof")
    return joined([line.text, " ", link])


def layouts_of(pair: PairReport) -> Iterator[Html]:
    """Drawings of the layouts that differ most, then the list of all; nothing without an explanation."""
    pair_explanation = pair.explanation
    if pair_explanation is None:
        return
    single = pair.comparison.single
    yield element("h3", "Layouts" if single else "Layouts that differ")
    if pair_explanation.no_layouts:
        yield element("p", pair_explanation.no_layouts, class_="quiet")
    yield from (_value(value, not number, single) for number, value in enumerate(pair_explanation.layouts))
    if len(pair_explanation.differences) > len(pair_explanation.layouts):
        items = [
            element("li", element("b", name), f": {difference}")
            for name, difference in pair_explanation.differences
        ]
        title = f"All {pluralize(len(items), 'value')} whose layouts differ"
        yield element("details", element("summary", title), element("ul", *items), class_="layout")


def _value(value: ValueDrawing, opened: bool, single: bool) -> Html:
    """Return a value's name and how its layouts differ; unfolded, its drawings side by side."""
    difference = f": {value.difference}" if value.difference else ""
    figures = [
        _figure(drawing, "" if single else "AB"[side], value.name)
        for side, drawing in enumerate(value.drawings)
    ]
    return element(
        "details",
        element("summary", element("b", value.name), difference),
        element("div", *figures, class_="drawings"),
        class_="layout",
        open=opened,
    )


def _figure(drawing: LayoutDrawing, side: str, name: str) -> Html:
    """Return a drawing, which scrolls, above its sentences, which wrap."""
    grid = drawing.grid
    caption = [element("b", side, class_=f"letter {side.lower()}"), Html(" ")] if side else []
    sentences = _paragraphs(dict.fromkeys([*drawing.sentences, *grid.notes]))
    if not grid.cells:
        return element("figure", element("figcaption", *caption), *sentences)
    # layout_svg escapes the texts.
    svg = Html(layout_svg([replace(grid, title="", notes=())], "", in_page=True))
    picture = element(
        "div", svg, class_="scroll", tabindex=0, role="img", aria_label=f"layout of {name} {side}".rstrip()
    )
    return element("figure", element("figcaption", *caption, grid.title), picture, *sentences)


def _paragraphs(texts: Iterable[str]) -> list[Html]:
    return [element("p", " ".join(texts), class_="quiet")]


def timelines_of(pair: PairReport) -> Iterator[Html]:
    """Yield the picture of what is in flight when, above its sentences; nothing without a pipelined loop."""
    timelines = pair.explanation.timelines if pair.explanation else ()
    if timelines:
        yield element("h3", "Main loop in time")
        yield timeline_figure(pair.comparison, timelines, "timeline")
        yield element("ul", *(element("li", text) for text in timeline_texts(timelines)), class_="why")


def timeline_figure(comparison: Comparison, timelines: Sequence[KernelTimeline], class_: str) -> Html:
    """Return the timelines of a pair or of a single variant as a picture, which scrolls."""
    sides = ("",) if comparison.single else ("A ", "B ")
    headings = [f"{side}{comparison.heading(index)}" for index, side in enumerate(sides)]
    # timeline_svg escapes the texts.
    svg = Html(timeline_svg(timelines, headings, in_page=True))
    return element("div", svg, class_=f"{class_} scroll", tabindex=0, role="img", aria_label="timeline")


def diff_payload(identity: str, diff: StageDiff, sources: Sequence[Mapping[SourcePlace, int]]) -> Html:
    """Return the element with the id `identity` that contains the diff.

    `sources` are the ids of the Python lines of the left and of the right.
    The JSON:

    - `kinds`: the name of each bit of a row's change;
    - `rows`: `[change, left text, right text, left spans, right spans]`, with null for a side
      without a line; if both texts are equal, it ends after the left one;
    - `chains`: lists of source ids, innermost place first; `origins`: the index of its chain for
      each line of the left and of the right.
    """
    chains: dict[tuple[int, ...], int] = {}
    document = {
        "kinds": [kind.names[0] for kind in Change],
        "rows": [_payload_row(diff, row) for row in rows_in_place(diff)],
        "origins": [
            [chains.setdefault(chain, len(chains)) for chain in source_chains(side, ids)]
            for side, ids in zip((diff.left, diff.right), sources, strict=True)
        ],
        "chains": list(chains),
    }
    return payload(identity, document)


def _payload_row(diff: StageDiff, row: Row) -> list[Any]:
    left, right = row_sides(diff, row)
    if left and right and left.text == right.text:
        return [row.change.value, left.text]
    record = [row.change.value, _text(left), _text(right)]
    spans = [side.spans if side else () for side in (left, right)]
    return [*record, *spans] if any(spans) else record


def _text(side: RowSide | None) -> str | None:
    return side.text if side else None


_DEFINITION = re.compile(r"def (\w+)")


def source_tables(pair: PairReport, listing: Listing, anchor: str) -> Html:
    """Return a listing as a table, with functions of Triton's library folded after it.

    `anchor` is the prefix of the ids of the lines.
    """
    sides = "A" if pair.comparison.single else listing.sides
    stage = assembly_stage(pair.diffs)
    counts = _counts(pair.diffs[stage], sides) if stage else []
    code = highlighted([line.text for line in listing.source.lines])
    stages = [stage if pair.comparison.single else f"{stage} in {side}" for side in sides if stage]
    heading = [
        element("th", "line", scope="col", class_="number"),
        *(element("th", name, scope="col") for name in ("Python", *stages)),
    ]
    rows = [
        _source_row(line, code[index], counts, sides, f"{anchor}-s{listing.first + index}")
        for index, line in enumerate(listing.source.lines)
    ]
    lines = listing.source.lines
    library = next((index for index, line in enumerate(lines) if line.library), len(lines))
    name = "Python" if len(sides) == 2 or pair.comparison.single else f"Python of {sides}"
    kernel_table = _scrolled(heading, rows[:library], f"{name}, with the instructions of each line")
    if library == len(lines):
        return kernel_table
    names = dict.fromkeys(match[1] for line in lines[library:] if (match := _DEFINITION.match(line.text)))
    title = element("summary", "Functions of Triton's library: ", element("code", ", ".join(names)))
    folded = _scrolled(heading, rows[library:], f"{name} of Triton's library")
    return joined([kernel_table, element("details", title, folded, class_="library")])


def _scrolled(heading: Sequence[Html], rows: Sequence[Html], label: str) -> Html:
    return element(
        "div", table(heading, rows, "source"), class_="scroll", tabindex=0, role="region", aria_label=label
    )


def _counts(diff: StageDiff, sides: str) -> list[InstructionCounts]:
    documents = {"A": diff.left, "B": diff.right}
    return [instruction_counts(documents[side], diff.stage) for side in sides]


def _source_row(
    line: PythonLine, code: Html, counts: Sequence[InstructionCounts], sides: str, identity: str
) -> Html:
    if line.place is None:
        # A heading: only the name of the file, because its folder describes a machine and not the kernel.
        name = element("span", base_name(line.text), class_="comment")
        return element("tr", element("td"), element("td", element("code", name), colspan=1 + len(counts)))
    texts = [_counts_text(side.get(line.place, {})) for side in counts]
    differs = len(texts) == 2 and texts[0] != texts[1]
    return element(
        "tr",
        element("td", element("a", str(line.number), href=f"#{identity}"), class_="number"),
        element("td", element("code", code)),
        *(
            element("td", text, class_="work differs" if differs else "work", data_side=side)
            for side, text in zip(sides, texts, strict=False)
        ),
        id=identity,
    )


def _counts_text(counts: Mapping[InstructionKind, int]) -> str:
    """Return a line per kind of instruction: `24 x global load 16 B`."""
    ordered = sorted(counts.items(), key=lambda item: (item[0].kind, -item[0].width, item[0].text()))
    return "\n".join(f"{number} x {_kind_text(kind)}" for kind, number in ordered)


def _kind_text(kind: InstructionKind) -> str:
    text = kind.text("{}\N{NO-BREAK SPACE}B") if kind.width or kind.name else ""
    return text if kind.name else f"{kind.kind} {text}".strip()


# The lines of a stage, and the length of a line, in a browser without scripts.
_PLAIN_LINES = 80
_PLAIN_WIDTH = 240
_CONTEXT = 3


def pair_anchor(number: int) -> str:
    """Return the id of the section of a pair."""
    return f"pair{number}"


def pair_section(pair: PairReport, number: int, title: str, left_out: Sequence[str]) -> Html:
    """Return the section of pair `number`, without the data of its stages.

    `left_out` are the stages that the page has no room for.
    """
    anchor = pair_anchor(number)
    single = pair.comparison.single
    sources = listings(*pair.comparison.variants)
    changed = (name for name in pair.shown if name in pair.comparison.stages and pair.diffs[name].structural)
    opened = next(changed, pair.shown[0] if single and pair.shown else None)
    python = element(
        "div", element("h3", "Python"), *(source_tables(pair, listing, anchor) for listing in sources)
    )
    why = [] if single else [element("div", *explanation(pair, anchor, _findings(pair, anchor)))]
    return element(
        "section",
        element("h2", "Variant " if single else f"Pair {number}: ", element("code", title)),
        element("p", *(_side(pair, index) for index in ((0,) if single else (0, 1))), class_="sides"),
        element("div", *why, python, class_=None if single else "side-by-side"),
        *timelines_of(pair),
        *layouts_of(pair),
        element("h3", "Stages"),
        *(_stage(pair.diffs[name], anchor, name == opened, single) for name in pair.shown),
        *_no_stages(pair, left_out),
        id=anchor,
        class_="pair single" if single else "pair",
    )


def _no_stages(pair: PairReport, left_out: Sequence[str]) -> Iterable[Html]:
    """Yield why stages are missing."""
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
    """Yield the data of the pair's stages, for the script."""
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
    """Return the sign of A (0) or B (1)."""
    return [element("b", "AB"[index], class_=f"letter {'ab'[index]}"), Html(" ")]


def _findings(pair: PairReport, anchor: str) -> Html:
    bits = element("p", pair.comparison.bits_text) if pair.comparison.bits_text else Html()
    items = [_finding(finding, pair, anchor) for finding in pair.comparison.findings]
    if not items:
        return joined([bits, element("p", "None: no fact differs.")])
    most = len(pair.comparison.main_findings)
    main_list, rest = element("ol", *items[:most], class_="findings"), items[most:]
    if not rest:
        return joined([bits, main_list])
    more = element("ol", *rest, class_="findings", start=most + 1)
    return joined(
        [bits, main_list, element("details", element("summary", pluralize(len(rest), "more finding")), more)]
    )


def _finding(finding: Finding, pair: PairReport, anchor: str) -> Html:
    links = [
        link
        for side, evidence in (("A", finding.evidence_a), ("B", finding.evidence_b))
        for link in _links(side, evidence, pair.shown, anchor)
    ]
    return element("li", finding.text, *(part for link in links for part in (Html(" "), link)))


def _links(side: str, evidence: Sequence[Evidence], shown: Sequence[str], anchor: str) -> Iterable[Html]:
    """Yield a link per stage that has lines of evidence."""
    ordered = sorted({(line.stage, line.line + 1) for line in evidence if line.stage in shown})
    for stage, stage_lines in groupby(ordered, key=lambda place: place[0]):
        lines = [line for _, line in stage_lines]
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


def _stage(diff: StageDiff, anchor: str, opened: bool, single: bool) -> Html:
    """Return a stage, folded.

    The script fills in its rows; without the script, the first rows are shown.
    """
    identity = f"{anchor}-{diff.stage}"
    lines = [len(document.text.rstrip().split("\n")) for document in (diff.left, diff.right)]
    compared = [
        element("span", diff.label, class_="label"),
        " ",
        element("span", diff.summary, class_="quiet"),
        element("span", f", of {lines[0]:,} and {lines[1]:,} lines", class_="quiet"),
    ]
    number = element("span", pluralize(lines[0], "line"), class_="quiet")
    title = element("summary", element("b", diff.stage), " ", *([number] if single else compared))
    view = element("div", class_="view")
    plain = element("noscript", _plain_text(diff) if single else _plain(diff))
    return element("details", title, view, plain, id=identity, class_="stage", open=opened)


def _plain_text(diff: StageDiff) -> Html:
    """Return the first lines of a stage that is not compared."""
    lines = diff.left.text.rstrip().split("\n")
    first_lines = [f"{clipped(line, _PLAIN_WIDTH)}\n" for line in lines[:_PLAIN_LINES]]
    note = element("p", f"The first {_PLAIN_LINES} lines; enable JavaScript or use irscope show.")
    return joined(
        [element("pre", *first_lines, class_="plain"), note if len(first_lines) < len(lines) else Html()]
    )


def _plain(diff: StageDiff) -> Html:
    if diff.equal:
        return element("p", "Equal except for names and locations.")
    signs = {"-": "removed", "+": "added", "@": "hunk"}
    diff_lines = [
        element("span", f"{clipped(line, _PLAIN_WIDTH)}\n", class_=signs.get(line[:1]))
        for line in islice(unified(diff, _CONTEXT, strict=True), _PLAIN_LINES)
    ]
    cut = len(diff_lines) == _PLAIN_LINES
    note = element(
        "p", f"The first {_PLAIN_LINES} lines; enable JavaScript or use irscope diff to see the others."
    )
    return joined([element("pre", *diff_lines, class_="plain"), note if cut else Html()])
