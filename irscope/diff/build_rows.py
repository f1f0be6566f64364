"""Aligned operations -> rows: every line of both texts exactly once, in order on both sides."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from irscope.diff.align import Block, Gap, common_blocks, gaps_between, refined
from irscope.diff.matching import UNPAIRED
from irscope.diff.non_op_lines import kind, meaning
from irscope.diff.rows import Change, Row
from irscope.languages.document import Document, Operation

_Anchor = tuple[int, int, Change]
_KeyOf = Callable[[str, str], Hashable]


def build_rows(
    left: Document,
    right: Document,
    partner: Sequence[int],
    changes: Mapping[int, Change],
    definitions: Mapping[int, tuple[int, Change]],
) -> list[Row]:
    """The rows of two documents whose operations are paired.

    `changes` are those of the aligned pairs, by left operation. `definitions` are the lines that define
    matched layouts: left line -> right line and change.
    """
    anchors = _rising(_anchors(left, right, partner, changes))
    sides = _Side(left, Change.REMOVED), _Side(right, Change.ADDED)
    filler = _Filler(*sides, definitions)
    rows: list[Row] = []
    at_left = at_right = 0
    for i, j, change in anchors:
        if at_left < i or at_right < j:
            rows += filler.rows(Gap(at_left, i, at_right, j))
        rows.append(Row(i, j, change))
        at_left, at_right = i + 1, j + 1
    rows += filler.rows(Gap(at_left, len(left.lines), at_right, len(right.lines)))
    return rows


def _anchors(
    left: Document, right: Document, partner: Sequence[int], changes: Mapping[int, Change]
) -> list[_Anchor]:
    """Pairs of lines that aligned operations begin with, and end with."""
    anchors = []
    for index, other in enumerate(partner):
        if other == UNPAIRED:
            continue
        ours, theirs = left.operations[index], right.operations[other]
        change = changes.get(index, Change.EQUAL)
        anchors.append((ours.line, theirs.line, change))
        if ours.end > ours.line + 1 and theirs.end > theirs.line + 1:
            closing = change if _says_more(left, ours) or _says_more(right, theirs) else Change.EQUAL
            anchors.append((ours.end - 1, theirs.end - 1, closing))
    anchors.sort(key=lambda anchor: anchor[:2])
    return anchors


def _says_more(document: Document, operation: Operation) -> bool:
    """Whether the operation's last line has more than a brace: types, attributes, operands."""
    return len(document.lines[operation.end - 1].partition(" loc(")[0].strip()) > 1


def _rising(anchors: list[_Anchor]) -> list[_Anchor]:
    """`anchors` that rise on both sides. Operations on one line share its row, and their changes."""
    kept: list[_Anchor] = []
    for anchor in anchors:
        if not kept or (anchor[0] > kept[-1][0] and anchor[1] > kept[-1][1]):
            kept.append(anchor)
        elif anchor[:2] == kept[-1][:2]:
            kept[-1] = (*anchor[:2], kept[-1][2] | anchor[2])
    return kept


class _Side:
    """One document's lines: which hold an operation, and what the others say."""

    def __init__(self, document: Document, unpaired: Change) -> None:
        self.lines = document.lines
        self.language = document.language
        self.unpaired = unpaired
        # Lines of an operation: all of one without regions, else the first. In MLIR only regions take
        # more than a line.
        self.held: set[int] = set()
        parents = {operation.parent for operation in document.operations}
        for index, operation in enumerate(document.operations):
            self.held.add(operation.line)
            if operation.end > operation.line + 1 and index not in parents and document.language != "mlir":
                self.held.update(range(operation.line, operation.end))

    def change(self, line: int) -> Change:
        """The change of a row that has only this line."""
        if line in self.held:
            return self.unpaired
        return Change.TEXT if meaning(self.lines[line], self.language) else Change.EQUAL


class _Filler:
    """Makes the rows of the lines between anchors."""

    def __init__(self, left: _Side, right: _Side, definitions: Mapping[int, tuple[int, Change]]) -> None:
        self.left, self.right = left, right
        self.definitions = definitions
        self.defining = {line for line, _ in definitions.values()}

    def rows(self, gap: Gap) -> list[Row]:
        """Rows of all lines in `gap`: alike ones side by side, the others alone, the left's first."""
        rows: list[Row] = []
        at_left, at_right = gap.left, gap.right
        for block in (*self._blocks(gap), Block(gap.left_end, gap.right_end, 0)):
            rows += [Row(i, None, self.left.change(i)) for i in range(at_left, block.left)]
            rows += [Row(None, j, self.right.change(j)) for j in range(at_right, block.right)]
            rows += [self._pair(block.left + n, block.right + n) for n in range(block.size)]
            at_left, at_right = block.left + block.size, block.right + block.size
        return rows

    def _pair(self, i: int, j: int) -> Row:
        if i in self.definitions:
            return Row(i, j, self.definitions[i][1])
        ours = meaning(self.left.lines[i], self.left.language)
        theirs = meaning(self.right.lines[j], self.right.language)
        return Row(i, j, Change.EQUAL if ours == theirs else Change.TEXT)

    def _blocks(self, gap: Gap) -> list[Block]:
        """Lines without an operation that may stand side by side: equal ones first, then alike ones."""
        if gap.left == gap.left_end or gap.right == gap.right_end:
            return []
        left, right = range(gap.left, gap.left_end), range(gap.right, gap.right_end)
        exact = [self._left_key(i, _text) for i in left], [self._right_key(j, _text) for j in right]
        blocks = common_blocks(*exact)
        if any(gaps_between(blocks, Gap(0, len(left), 0, len(right)))):
            alike = [self._left_key(i, kind) for i in left], [self._right_key(j, kind) for j in right]
            blocks = refined(blocks, *alike)
        return [Block(gap.left + block.left, gap.right + block.right, block.size) for block in blocks]

    def _left_key(self, line: int, of: _KeyOf) -> Hashable:
        """What a left line is aligned by; one with an operation has no equal on the other side."""
        if line in self.left.held:
            return "left", line
        if line in self.definitions:
            return "definition", self.definitions[line][0]
        return of(self.left.lines[line], self.left.language)

    def _right_key(self, line: int, of: _KeyOf) -> Hashable:
        if line in self.right.held:
            return "right", line
        if line in self.defining:
            return "definition", line
        return of(self.right.lines[line], self.right.language)


def _text(line: str, _language: str) -> str:
    return line.strip()
