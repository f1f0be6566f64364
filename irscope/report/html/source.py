"""A kernel's Python, and beside each line what its instructions do in A and in B."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Literal, Name, Operator, _TokenType

from irscope.analysis.instruction_mix import work_by_line
from irscope.analysis.source_map import Place, PythonLine, place_of, python_lines
from irscope.backends.instructions import InstructionKind
from irscope.diff.rows import StageDiff
from irscope.languages.document import Document, Location
from irscope.report.html.markup import Html, element, joined
from irscope.report.pair_report import PairReport

# Classes of the style sheet; a token type that is not here has that of its parent.
_CLASSES = {
    Comment: "comment",
    Keyword: "keyword",
    Literal.Number: "number",
    Literal.String: "string",
    Name.Builtin: "keyword",
    Name.Decorator: "name",
    Name.Function: "name",
    Operator.Word: "keyword",
}
# Where instructions are counted; TTGIR's operations say less of what a line costs.
_ASSEMBLY = ("ptx", "amdgcn")

Work = Mapping[Place, Mapping[InstructionKind, int]]


@dataclass(frozen=True)
class Listing:
    """The Python that one side of a pair, or both, was compiled from. `first` is its first line's id."""

    sides: str
    lines: Sequence[PythonLine]
    first: int

    @property
    def ids(self) -> Mapping[Place, int]:
        """The lines' ids by their places."""
        return {line.place: self.first + index for index, line in enumerate(self.lines) if line.place}


def listings(comparison: PairReport) -> list[Listing]:
    """One listing where A and B have the same Python, else one of each."""
    ours, theirs = (python_lines(variant.kernel) for variant in comparison.variants)
    if ours == theirs:
        return [Listing("AB", ours, 0)]
    return [Listing("A", ours, 0), Listing("B", theirs, len(ours))]


def source_table(comparison: PairReport, listing: Listing, anchor: str) -> Html:
    """A listing as a table; `anchor` begins the ids of its lines."""
    diff = next((comparison.diffs[name] for name in _ASSEMBLY if name in comparison.diffs), None)
    work = [_work(diff, side) if diff else {} for side in listing.sides]
    code = _highlighted(listing.lines)
    heading = element(
        "tr",
        element("th", "line", scope="col", class_="number"),
        element("th", "Python", scope="col"),
        *(element("th", f"{diff.stage} in {side}", scope="col") for side in listing.sides if diff),
    )
    rows = [
        _row(line, code[index], work if diff else [], listing.sides, f"{anchor}-s{listing.first + index}")
        for index, line in enumerate(listing.lines)
    ]
    return element("table", element("thead", heading), element("tbody", *rows), class_="source")


def _row(line: PythonLine, code: Html, work: Sequence[Work], sides: str, identity: str) -> Html:
    if line.place is None:
        # A heading: the file's name alone, as its folder says more of a machine than of the kernel.
        name = element("span", line.text.replace("\\", "/").rpartition("/")[2], class_="comment")
        return element("tr", element("td"), element("td", element("code", name), colspan=1 + len(work)))
    told = [_told(side.get(line.place, {})) for side in work]
    differs = len(told) == 2 and told[0] != told[1]
    return element(
        "tr",
        element("td", element("a", str(line.number), href=f"#{identity}"), class_="number"),
        element("td", element("code", code)),
        *(
            element("td", text, class_="work differs" if differs else "work", data_side=side)
            for side, text in zip(sides, told, strict=False)
        ),
        id=identity,
    )


def _work(diff: StageDiff, side: str) -> Work:
    """What the instructions of each place do, and how many of them do it."""
    document: Document = diff.left if side == "A" else diff.right
    found: dict[Place, dict[InstructionKind, int]] = defaultdict(dict)
    for (_, place), work in work_by_line(document, diff.stage).items():
        if place is not None:
            found[place_of(Location(*place))].update(work.counts)
    return found


def _told(counts: Mapping[InstructionKind, int]) -> str:
    """A line for each thing that is done: `24 x global load 16 B`."""
    ordered = sorted(counts.items(), key=lambda item: (item[0].kind, -item[0].width, item[0].name))
    return "\n".join(f"{number} x {_done(doing)}" for doing, number in ordered)


def _done(doing: InstructionKind) -> str:
    what = doing.name or doing.kind
    return f"{what} {doing.width}\N{NO-BREAK SPACE}B" if doing.width else what


def _highlighted(lines: Sequence[PythonLine]) -> list[Html]:
    """The text of each line with its tokens in spans."""
    found: list[list[str]] = [[]]
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    for kind, value in lexer.get_tokens("\n".join(line.text for line in lines)):
        for number, piece in enumerate(value.split("\n")):
            if number:
                found.append([])
            name = _class(kind)
            found[-1].append(element("span", piece, class_=name) if name and piece else piece)
    return [joined(pieces) for pieces in found]


def _class(kind: _TokenType) -> str:
    while kind not in _CLASSES and kind.parent is not None:
        kind = kind.parent
    return _CLASSES.get(kind, "")
