"""A kernel's Python; next to each line, the instructions that it became in A and in B."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from irscope.model.text import base_name
from irscope.report.html.markup import Html, element, joined
from irscope.report.html.python_highlight import highlighted
from irscope.report.pair_report import PairReport
from irscope.workspace import (
    InstructionCounts,
    InstructionKind,
    Listing,
    PythonLine,
    StageDiff,
    assembly_stage,
    instruction_counts,
)

_DEFINITION = re.compile(r"def (\w+)")


def source_tables(pair: PairReport, listing: Listing, anchor: str) -> Html:
    """A listing as a table, and functions of Triton's library folded after it.

    `anchor` is the prefix of the ids of the lines.
    """
    sides = "A" if pair.comparison.single else listing.sides
    stage = assembly_stage(pair.diffs)
    counts = _counts(pair.diffs[stage], sides) if stage else []
    code = highlighted([line.text for line in listing.source.lines])
    heading = element(
        "tr",
        element("th", "line", scope="col", class_="number"),
        element("th", "Python", scope="col"),
        *(
            element("th", stage if pair.comparison.single else f"{stage} in {side}", scope="col")
            for side in sides
            if stage
        ),
    )
    rows = [
        _row(line, code[index], counts, sides, f"{anchor}-s{listing.first + index}")
        for index, line in enumerate(listing.source.lines)
    ]
    lines = listing.source.lines
    library = next((index for index, line in enumerate(lines) if line.library), len(lines))
    name = "Python" if len(sides) == 2 or pair.comparison.single else f"Python of {sides}"
    own = _scrolled(heading, rows[:library], f"{name}, with the instructions of each line")
    if library == len(lines):
        return own
    names = dict.fromkeys(found[1] for line in lines[library:] if (found := _DEFINITION.match(line.text)))
    title = element("summary", "Functions of Triton's library: ", element("code", ", ".join(names)))
    folded = _scrolled(heading, rows[library:], f"{name} of Triton's library")
    return joined([own, element("details", title, folded, class_="library")])


def _scrolled(heading: Html, rows: Sequence[Html], label: str) -> Html:
    table = element("table", element("thead", heading), element("tbody", *rows), class_="source")
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=label)


def _counts(diff: StageDiff, sides: str) -> list[InstructionCounts]:
    documents = {"A": diff.left, "B": diff.right}
    return [instruction_counts(documents[side], diff.stage) for side in sides]


def _row(
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
    """A line per kind of instruction: `24 x global load 16 B`."""
    ordered = sorted(counts.items(), key=lambda item: (item[0].kind, -item[0].width, item[0].text()))
    return "\n".join(f"{number} x {_kind_text(kind)}" for kind, number in ordered)


def _kind_text(kind: InstructionKind) -> str:
    text = kind.text("{}\N{NO-BREAK SPACE}B") if kind.width or kind.name else ""
    return text if kind.name else f"{kind.kind} {text}".strip()
