"""Documents as a page that loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from irscope.document.blocks import Block, Code, Document, Folded, Line, StageDiffs, Table, VariantName
from irscope.document.html.markup import Html, element, joined, table
from irscope.document.html.report_page import own_file, page_html
from irscope.document.terminal.row_text import unified
from irscope.workspace import StageDiff

_TAGS = {"heading": "b", "best": "b", "warning": "strong", "dim": "small"}


def document_html(name: str, document: Document) -> str:
    """Return a document as a page; `name` is its title."""
    body = element("main", element("h1", name), *document_elements(document))
    return page_html(f"{name}: irscope", own_file("report.css"), Html(), [body])


def document_elements(document: Document) -> Iterator[Html]:
    """Yield the elements of a document; lines with a level are lists."""
    for is_list, blocks in groupby(document, lambda block: isinstance(block, Line) and block.level > 0):
        if is_list:
            yield element("ul", *_items([block for block in blocks if isinstance(block, Line)]))
        else:
            yield from map(_element, blocks)


def _items(lines: list[Line]) -> Iterator[Html]:
    """Yield the items of a list; lines of a deeper level are a list in the item before them."""
    items: list[tuple[Line, list[Line]]] = []
    for line in lines:
        if items and line.level > items[0][0].level:
            items[-1][1].append(line)
        else:
            items.append((line, []))
    for line, inner in items:
        yield element("li", _text(line), element("ul", *_items(inner)) if inner else Html())


def _text(line: Line) -> Html:
    return joined(element(_TAGS[role], text) if role else text for text, role in line.pieces)


def _element(block: Block) -> Html:
    match block:
        case VariantName(name, kernel, target, letter):
            mark = [element("b", letter, class_=f"letter {letter.lower()}"), " "] if letter else []
            return element("p" if letter else "h2", *mark, element("code", name), f" {kernel} {target}")
        case Line():
            return element("p", _text(block))
        case Table():
            heading = [element("th", column.heading, scope="col") for column in block.columns]
            rows = zip(*(column.cells for column in block.columns), strict=True)
            body = [element("tr", *(element("td", cell) for cell in cells)) for cells in rows]
            return element("div", table(heading, body), class_="scroll")
        case Code():
            return element("pre", "\n".join(block.lines))
        case Folded():
            items = [element("li", text) for text in block.texts]
            first, rest = element("ol", *items[: block.shown]), items[block.shown :]
            more = element("ol", *rest, start=block.shown + 1)
            folded = element("details", element("summary", block.more), more) if rest else Html()
            return joined([first, folded])
        case StageDiffs():
            return joined(_rows(diff, block.context) for diff in block.diffs)


def _rows(diff: StageDiff, context: int) -> Html:
    rows = element("pre", "\n".join(unified(diff, context, strict=True)), class_="plain")
    return element("details", element("summary", diff.stage), rows)
