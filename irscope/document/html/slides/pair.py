"""The slides about two variants: a question, what differs and why, lines of IR, a layout, resources.

A slide, and the pieces that several slides are made of: code, commands, notes, bars.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from irscope.document.html.layout_svg import layout_svg
from irscope.document.html.markup import Html, element, joined, table
from irscope.document.html.pair_section import timeline_figure
from irscope.document.slide_content import FindingExcerpt, LayoutContent, PairContent
from irscope.glossary.glossary import entry_for
from irscope.model.text import one_line, pluralize
from irscope.workspace import Finding, RowSide, Verdict
from irscope.workspace.timeline_text import timeline_texts

_CODE = re.compile(r"`([^`]+)`")
# The characters of a row that fit on a slide.
_MOST_TEXT = 260


@dataclass(frozen=True)
class Slide:
    """A slide: its title (text, or markup), its content, and what the speaker may say about it.

    `kind` is a class of the style sheet.
    """

    title: str
    body: Sequence[Html]
    notes: Sequence[Html] = ()
    kind: str = ""


def slide_element(slide: Slide, number: int, total: int, source: str) -> Html:
    """Return a slide with its number; `source` is the name of the capture or lesson."""
    heading = element("h1" if number == 1 else "h2", slide.title)
    frame = element(
        "div",
        heading,
        element("div", *slide.body, class_="body"),
        element("footer", element("span", source), element("span", f"{number} / {total}")),
        class_="frame",
    )
    notes = element("aside", *slide.notes, class_="notes", aria_label="Speaker notes")
    return element(
        "section",
        frame,
        notes,
        id=f"s{number}",
        class_=f"slide {slide.kind}".rstrip(),
        aria_label=f"Slide {number}",
        tabindex=-1,
    )


def fragment(name: str, /, *children: str, class_: str) -> Html:
    """Return an element that a key press uncovers; printed, and without scripts, it is shown."""
    return element(name, *children, class_=f"fragment {class_}".rstrip())


def paragraph(*children: str, class_: str | None = None) -> Html:
    """Return a paragraph."""
    return element("p", *children, class_=class_)


def command(text: str) -> Html:
    """Return a note with a command that shows the slide's subject live."""
    return paragraph("Live: ", element("code", text))


def term_notes(*words: str) -> list[Html]:
    """Return the glossary entry of each word that has one."""
    entries = [(word, entry) for word in words if (entry := entry_for(word))]
    return [paragraph(element("b", f"{word}: "), inline_code(entry.text)) for word, entry in entries]


def inline_code(text: str) -> Html:
    """Text with Markdown's code spans."""
    parts = _CODE.split(text)
    return joined(element("code", part) if index % 2 else part for index, part in enumerate(parts))


def code_lines(lines: Iterable[tuple[int | None, str]]) -> Html:
    """Return lines of code with their numbers; None marks a line that only counts omitted lines."""
    rows = [
        element(
            "span",
            element("i", "" if number is None else str(number)),
            element("span", text or " "),
            class_="line" if number is not None else "line omitted",
        )
        for number, text in lines
    ]
    return element("pre", element("code", *rows), class_="code")


def marked_text(side: RowSide) -> Html:
    """Return the text of a row without its indentation; `mark` elements are the spans that changed.

    Of a long text, only the characters from shortly before the first change are returned.
    """
    start = len(side.text) - len(side.text.lstrip())
    if side.spans and side.spans[0][0] > start + _MOST_TEXT * 2 // 3 and len(side.text) - start > _MOST_TEXT:
        start = side.spans[0][0] - _MOST_TEXT // 3
    stop = min(len(side.text), start + _MOST_TEXT)
    parts: list[str] = ["..." if side.text[:start].strip() else ""]
    position = start
    for span in side.spans:
        first, last = (min(max(column, position), stop) for column in span)
        parts += [side.text[position:first], element("mark", side.text[first:last]) if first < last else ""]
        position = last
    return joined([*parts, side.text[position:stop], "..." if stop < len(side.text) else ""])


def bar(share: float, class_: str) -> Html:
    """Draw a horizontal bar; `share` is between 0 and 1."""
    width = round(100 * min(max(share, 0.0), 1.0), 1)
    return element(
        "svg",
        element("rect", width=100, height=10, class_="ground"),
        element("rect", width=width, height=10, class_=f"amount {class_}".rstrip()),
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        class_="bar",
        aria_hidden="true",
    )


def breakable(name: str) -> Html:
    """Return a name that a narrow heading may break after underscores."""
    parts = name.split("_")
    return joined([part for word in parts[:-1] for part in (f"{word}_", element("wbr"))] + parts[-1:])


def capitalized(text: str) -> str:
    """`text` with a large first letter; the others stay."""
    return text[:1].upper() + text[1:]


_FINDINGS, _SENTENCES = 7, 2
# An XML document of its own has a declaration of its namespace, which HTML does not need.
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'


def pair_slides(pair: PairContent, path: str) -> Iterator[Slide]:
    """Yield the slides of a pair; the question comes before all answers."""
    a, b = (shlex.quote(f"#{variant.id}") for _, variant in pair.sides)
    names = f"{a} {b}"
    if pair.asked:
        yield _question(pair, f"irscope diff {path} {names}")
    yield _stages(pair, f"irscope why {path} {names}")
    if pair.findings:
        yield _findings(pair, f"irscope diff {path} {names}")
    for excerpt in pair.excerpts:
        yield _excerpt(excerpt, f"irscope diff {path} {names} --stage {excerpt.stage}")
    if pair.timelines:
        yield _timelines(pair, f"irscope timeline {path} {names}")
    if pair.layout:
        yield _layout(pair.layout, f"irscope layout {path} {a} --against {b}")
    if any(verdict.resources for verdict in pair.verdicts):
        yield _resources(pair, f"irscope verdict {path} {b} --against {a}")


def letter(side: str) -> Html:
    """Return A or B on its color."""
    return element("b", side, class_=f"letter {side.lower()}")


def _sides(pair: PairContent) -> Html:
    """Return both variants with their letters."""
    names = [
        element("span", letter(side), " ", pair.comparison.heading(index))
        for index, (side, _) in enumerate(pair.sides)
    ]
    return paragraph(*names, class_="sides")


def _question(pair: PairContent, live: str) -> Slide:
    """A's facts; B's are uncovered after the guesses."""
    heading = [element("th", ""), element("th", letter("A")), element("th", letter("B"))]
    rows = [
        element(
            "tr",
            element("th", capitalized(kind.subject), scope="row"),
            element("td", a),
            element("td", fragment("span", b, class_="guess")),
        )
        for kind, a, b in pair.asked
    ]
    body = [
        _sides(pair),
        table(heading, rows, "question"),
        paragraph(
            "Which stage is the first to differ? ", fragment("b", pair.first or "none", class_="answer")
        ),
    ]
    notes = [
        paragraph("Collect guesses first: more, fewer, or the same? Each key press uncovers one answer."),
        paragraph("Answers: ", "; ".join(f"{kind.subject} {b}" for kind, _, b in pair.asked)),
        *term_notes(*(kind.name for kind, _, _ in pair.asked)),
        command(live),
    ]
    return Slide(f"Question: {pair.title}. What changes?", body, notes, "ask")


def _stages(pair: PairContent, live: str) -> Slide:
    """Return why B was compiled after A, and the stages with what differs in each."""
    boxes = [element("li", element("b", "Python"), element("span", pair.title), class_="stage differs")]
    boxes += [
        element(
            "li",
            element("b", name),
            element("span", label if differs else "equal"),
            class_="stage differs" if differs else "stage",
        )
        for name, label, differs in pair.stages
    ]
    reasons = [element("li", line.text) if line.level > 1 else paragraph(line.text) for line in pair.reasons]
    body = [
        _sides(pair),
        element("h3", "Why it is compiled again"),
        element("div", *reasons, class_="reasons"),
        element("h3", "What differs, stage by stage"),
        element("ol", *boxes, class_="stages"),
        paragraph(pair.first, class_="point") if pair.first else Html(),
        paragraph(pair.comparison.verdict),
    ]
    notes = [*term_notes("cache key", "stage", "duplicate"), command(live)]
    return Slide(f"{pair.title}: another compilation", body, notes)


def _findings(pair: PairContent, live: str) -> Slide:
    main_findings = pair.findings[:_FINDINGS]
    items = [element("li", _emphasized(finding)) for finding in main_findings]
    more = pair.more + len(pair.findings) - len(main_findings)
    rest = [paragraph(pluralize(more, "more finding"), class_="quiet")] if more else []
    layout = [paragraph(f"No drawing of a layout: {pair.no_layout}.")] if pair.no_layout else []
    notes = [*layout, *term_notes(*dict.fromkeys(finding.kind for finding in main_findings)), command(live)]
    return Slide(
        "What differs, most important first", [_sides(pair), element("ol", *items), *rest], notes, "findings"
    )


def _emphasized(finding: Finding) -> Html:
    """Return a finding with its subject in bold."""
    subject = _subject(finding) and f"{_subject(finding)}:"
    return joined([element("b", subject), one_line(finding.text).removeprefix(subject)])


def _excerpt(excerpt: FindingExcerpt, live: str) -> Slide:
    """Return the lines that prove a finding, side by side below their line of Python."""
    python = (
        [paragraph(element("i", f"Python line {excerpt.number}: "), element("code", excerpt.python))]
        if excerpt.python
        else []
    )
    columns = [
        element(
            "div",
            element("h3", letter("AB"[index]), f" {excerpt.stage}"),
            *map(_stage_line, side),
            paragraph(f"and {pluralize(excerpt.more[index], 'more line')}", class_="quiet")
            if excerpt.more[index]
            else Html(),
        )
        for index, side in enumerate(excerpt.sides)
    ]
    notes = [*term_notes(excerpt.finding.kind, excerpt.stage), command(live)]
    return Slide(
        _subject(excerpt.finding).partition(" (")[0] or capitalized(one_line(excerpt.finding.kind)),
        [paragraph(excerpt.finding.text), *python, element("div", *columns, class_="columns")],
        notes,
        "excerpt",
    )


def _subject(finding: Finding) -> str:
    """Return what the sentence has before a colon: "tl.dot of line 90 (f(a, b))"; "" if it has none."""
    colon = finding.changes and finding.declared.after_what.startswith(":")
    return one_line(finding.what) if colon else ""


def _stage_line(side: RowSide) -> Html:
    number = element("i", str(side.number))
    return element("pre", element("code", number, " ", marked_text(side)))


def _layout(content: LayoutContent, live: str) -> Slide:
    """Return the drawings of A and B, and a sentence on how they differ."""
    grids = [
        replace(grid, title=f"{side}: {grid.title}") for side, grid in zip("AB", content.grids, strict=True)
    ]
    drawing = Html(layout_svg(grids, "", in_page=True).replace(_NAMESPACE, "", 1))
    body = [
        paragraph(element("b", "B compared with A: "), content.difference, class_="point"),
        element("div", drawing, class_="drawing scroll"),
        *(paragraph(sentence, class_="quiet") for sentence in content.sentences),
    ]
    return Slide(
        f"The layout of {content.name}", body, [*term_notes("layout", "blocked"), command(live)], "layout"
    )


def _timelines(pair: PairContent, live: str) -> Slide:
    """Return the picture of what is in flight when in A and B, and the first sentences on how they differ."""
    drawing = Html(timeline_figure(pair.comparison, pair.timelines, "drawing").replace(_NAMESPACE, "", 1))
    texts = [paragraph(text, class_="quiet") for text in timeline_texts(pair.timelines)[:_SENTENCES]]
    notes = [*term_notes("num_stages", "prologue"), command(live)]
    return Slide("The main loop in time", [drawing, *texts], notes, "timelines")


def _resources(pair: PairContent, live: str) -> Slide:
    """Return a bar per resource and side, with the limit of the target."""
    rows: list[Html] = []
    for name in dict.fromkeys(resource.name for verdict in pair.verdicts for resource in verdict.resources):
        rows += _bars(name, _used(name, pair.verdicts))
    rows += _bars("occupancy", _occupancy(pair.verdicts))
    resources = element("table", element("tbody", *rows), class_="resources")
    limits = [
        paragraph(letter(side), f" {_limit(verdict)}")
        for side, verdict in zip("AB", pair.verdicts, strict=True)
    ]
    words = ("occupancy", "registers", "shared", "stack")
    notes = [*term_notes(*words), command(live)]
    return Slide("Resources and occupancy", [resources, *limits], notes, "resources-slide")


def _limit(verdict: Verdict) -> str:
    if verdict.problem:
        return verdict.problem
    limited = f"occupancy limited by {verdict.limiter}" if verdict.limiter else "occupancy unknown"
    return limited if verdict.estimate is None else f"{limited}; {verdict.bound}"


def _used(name: str, verdicts: Sequence[Verdict]) -> Iterator[tuple[str, float]]:
    """Yield how much of a resource A and B use, as text and as a share of the limit."""
    found = [next((r for r in verdict.resources if r.name == name), None) for verdict in verdicts]
    most = max((resource.used for resource in found if resource), default=0)
    for resource in found:
        share = 0.0 if resource is None else resource.used / max(1, resource.limit or most)
        yield "unknown" if resource is None else resource.text.removeprefix(name).strip(), share


def _occupancy(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, float]]:
    for verdict in verdicts:
        known = verdict.occupancy is not None
        yield (
            f"{round((verdict.occupancy or 0) * 100, 1):g}%" if known else "unknown",
            verdict.occupancy or 0.0,
        )


def _bars(name: str, readings: Iterable[tuple[str, float]]) -> Iterator[Html]:
    """Yield a bar for A and one for B."""
    for side, (text, share) in zip("AB", readings, strict=True):
        yield element(
            "tr",
            element("th", capitalized(name) if side == "A" else "", scope="row"),
            element("td", letter(side)),
            element("td", bar(share, side.lower()), class_="wide"),
            element("td", text, class_="number"),
            class_="first" if side == "A" else None,
        )
