"""Why B was compiled after A, what changed, whether it was worth it, and the layouts that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from irscope.document.html.layout_svg import layout_svg
from irscope.document.html.markup import Html, element, joined
from irscope.document.report_content import PairExplanation, PairReport, ValueDrawing
from irscope.model.text import pluralize
from irscope.workspace import LayoutDrawing, TextLine
from irscope.workspace.source_lines import listings
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
