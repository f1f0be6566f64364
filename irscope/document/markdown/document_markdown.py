"""Documents as Markdown, for an issue or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from irscope.document.blocks import Block, Code, Document, Folded, Line, StageDiffs, Table, VariantName
from irscope.document.terminal.row_text import unified
from irscope.document.terminal.stage_text import more_rows
from irscope.model.text import code, markdown_escaped


def markdown_lines(document: Document) -> Iterator[str]:
    """Yield the lines of a document; blocks have blank lines between them, items of a list have none."""
    in_list: bool | None = None
    for block in document:
        item = (isinstance(block, Line) and block.level > 0) or (
            isinstance(block, VariantName) and bool(block.letter)
        )
        if in_list is not None and not (item and in_list):
            yield ""
        in_list = item
        yield from _lines(block)


def _lines(block: Block) -> Iterator[str]:
    match block:
        case VariantName(name, kernel, target, letter):
            lead = f"- {letter}:" if letter else "###"
            yield f"{lead} {code(name)} {code(kernel)} {target}"
        case Line():
            text = "".join(_piece(*piece) for piece in block.pieces).strip()
            yield f"{'  ' * (block.level - 1)}- {text}" if block.level else text
        case Table():
            headings = [c.heading.replace("_\n", "_").replace("\n", " ") for c in block.columns]
            yield table_row(map(markdown_escaped, headings))
            yield table_row(["---"] * len(headings))
            for cells in zip(*(column.cells for column in block.columns), strict=True):
                yield table_row(map(markdown_escaped, cells))
            if notes := list(block.notes):
                yield from ("", *(f"- {markdown_escaped(note)}" for note in notes))
        case Code():
            yield from ("```python", *block.lines, "```")
        case Folded():
            texts = [f"{number}. {markdown_escaped(text)}" for number, text in enumerate(block.texts, 1)]
            yield from texts[: block.shown]
            if block.more:
                yield from ("", f"<details><summary>{block.more}</summary>", "")
                yield from (*texts[block.shown :], "", "</details>")
        case StageDiffs():
            for index, diff in enumerate(block.diffs):
                rows = list(unified(diff, block.context, strict=True))
                shown = [*rows[: block.most], *more_rows(len(rows[block.most or len(rows) :]))]
                yield from [""] if index else []
                yield from folded(diff.stage, shown)


def _piece(text: str, role: str) -> str:
    blanks = text[: len(text) - len(text.lstrip())][:1]
    escaped = markdown_escaped(text.strip())
    return f"{blanks}**{escaped}**" if role and escaped else blanks + escaped


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a unified diff in a block that a page can fold, fenced so that no line can end the block."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"<details><summary>{title}</summary>", "", f"{fence}diff", *lines, fence, "", "</details>")
