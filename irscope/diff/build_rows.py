"""Matched operations -> rows: every line of both texts exactly once, in the order of both.

    left                      right                       row
    12  %a = tt.load %p       14  %a = tt.load %p         Row(12, 14, EQUAL)
                              15  %m = tt.splat %n        Row(None, 15, ADDED)
    13  }                     16  }                       Row(13, 16, EQUAL)

Lines outside of operations (braces, labels, directives, alias tables) are aligned between the matched
operations. Views need them: a diff of only the operations could not be read as a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import zip_longest

from irscope.diff.align import AlignmentBudget, Gap, MatchingBlock, common_blocks, gaps_between, refined
from irscope.diff.classify import classify
from irscope.diff.matching import UNMATCHED, without_names
from irscope.diff.rows import Change, Row
from irscope.languages.document import Document, Operation
from irscope.languages.language import Language

# A pair of lines, and how they differ.
_Anchor = tuple[int, int, Change]

_NUMBER = re.compile(r"\d+")
_ATTRIBUTE_GROUP = re.compile(r"#\d+")
_FIRST_WORD = re.compile(r"[^\s\w]*[\w.]*")


def build_rows(
    left: Document,
    right: Document,
    matches: Sequence[int],
    changes: Mapping[int, Change],
    layout_lines: Mapping[int, tuple[int, Change]],
    work: AlignmentBudget | None,
) -> list[Row]:
    """Return the rows of two documents.

    `changes` maps matched left operations to their changes. `layout_lines` are the lines that
    define matched layouts: left line -> right line and change. `work` bounds the alignments.
    """
    moved = {index for index, change in changes.items() if change & Change.MOVED}
    anchors = _in_order(_anchors(left, right, matches, changes, moved))
    layouts = {line: match for line, (match, _) in layout_lines.items()}
    sides = (
        _DocumentSide(left, Change.REMOVED, layouts),
        _DocumentSide(right, Change.ADDED, {line: line for line in layouts.values()}),
    )
    for index in moved:
        sides[0].moved[left.operations[index].line] = changes[index]
        sides[1].moved[right.operations[matches[index]].line] = changes[index]
    filler = _Filler(*sides, layout_lines, work or AlignmentBudget())
    rows: list[Row] = []
    at_left = at_right = 0
    for i, j, change in anchors:
        if at_left < i or at_right < j:
            rows += filler.rows(Gap(at_left, i, at_right, j))
        rows.append(Row(i, j, change))
        at_left, at_right = i + 1, j + 1
    rows += filler.rows(Gap(at_left, len(left.lines), at_right, len(right.lines)))
    return rows


def text_rows(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """Return the rows of two texts without operations, such as a kernel's Python before and after."""
    rows: list[Row] = []
    at_left, at_right = 0, 0
    for block in (*common_blocks(left, right), MatchingBlock(len(left), len(right), 0)):
        rows += _replaced(range(at_left, block.left), range(at_right, block.right))
        rows += [Row(block.left + n, block.right + n, Change.EQUAL) for n in range(block.size)]
        at_left, at_right = block.left + block.size, block.right + block.size
    return rows


def _replaced(left: range, right: range) -> list[Row]:
    def change(i: int | None, j: int | None) -> Change:
        return Change.REMOVED if j is None else Change.ADDED if i is None else Change.TEXT

    return [Row(i, j, change(i, j)) for i, j in zip_longest(left, right)]


def _anchors(
    left: Document,
    right: Document,
    matches: Sequence[int],
    changes: Mapping[int, Change],
    moved: Collection[int],
) -> list[_Anchor]:
    """Return the first and the last lines of matched operations that did not move."""
    anchors = []
    for index, match in enumerate(matches):
        if match == UNMATCHED or index in moved:
            continue
        ours, theirs = left.operations[index], right.operations[match]
        change = changes.get(index, Change.EQUAL)
        anchors.append((ours.line, theirs.line, change))
        if ours.end > ours.line + 1 and theirs.end > theirs.line + 1:
            in_last_line = _last_line_has_content(left, ours) or _last_line_has_content(right, theirs)
            anchors.append((ours.end - 1, theirs.end - 1, change if in_last_line else Change.EQUAL))
    anchors.sort(key=lambda anchor: anchor[:2])
    return anchors


def _last_line_has_content(document: Document, operation: Operation) -> bool:
    """Check whether the operation's last line has more than a brace: types, attributes, operands."""
    return len(document.lines[operation.end - 1].partition(" loc(")[0].strip()) > 1


def _in_order(anchors: list[_Anchor]) -> list[_Anchor]:
    """Return the anchors that are in order on both sides.

    Operations on one line share its row and changes.
    """
    ordered: list[_Anchor] = []
    for anchor in anchors:
        if not ordered or (anchor[0] > ordered[-1][0] and anchor[1] > ordered[-1][1]):
            ordered.append(anchor)
        elif anchor[:2] == ordered[-1][:2]:
            ordered[-1] = (*anchor[:2], ordered[-1][2] | anchor[2])
    return ordered


class _DocumentSide:
    """The lines of one document, and which of them belong to an operation."""

    def __init__(self, document: Document, unmatched: Change, layouts: Mapping[int, int]) -> None:
        self.lines = document.lines
        self._layouts = layouts  # the lines that define layouts, and the lines of B that they match
        self.language = Language.named(document.language)
        self.functions = frozenset(document.functions)
        self.labels = document.labels
        self._headers: dict[int, str] = {}
        self.unmatched = unmatched
        # The lines of operations whose matches are elsewhere.
        self.moved: dict[int, Change] = {}
        # The first line of an operation with regions, else all of its lines.
        self.operation_lines: set[int] = set()
        parents = {operation.parent for operation in document.operations}
        for index, operation in enumerate(document.operations):
            self.operation_lines.add(operation.line)
            has_region = self.language.has_regions or index in parents
            if operation.end > operation.line + 1 and not has_region:
                self.operation_lines.update(range(operation.line, operation.end))

    def change(self, line: int) -> Change:
        """Return the change of a row that has only this line."""
        if line in self.moved:
            return self.moved[line]
        if line in self.operation_lines:
            return self.unmatched
        return Change.TEXT if self.header_content(line) else Change.EQUAL

    def header_content(self, line: int) -> str:
        """Return the content of a line outside of operations, or "" if it carries no meaning.

        Braces, labels, comments, alias and location tables, debug sections and register declarations
        carry none: they follow from the operations, or from names without a meaning.
        """
        if line not in self._headers:
            self._headers[line] = self._header_content(self.lines[line].strip())
        return self._headers[line]

    def _header_content(self, text: str) -> str:
        if not self.language.header.match(text):
            return ""
        if self.language.comment:
            text = text.partition(self.language.comment)[0]
        text = without_names(" ".join(text.split()), self.functions)
        return _ATTRIBUTE_GROUP.sub("#", text)

    def keys(self, lines: range, key_of: Callable[[int], Hashable]) -> list[Hashable]:
        """Return the keys that align some lines; no line of the other side has that of an operation."""
        return [self._key(line, key_of) for line in lines]

    def _key(self, line: int, key_of: Callable[[int], Hashable]) -> Hashable:
        if line in self.operation_lines:
            return self.unmatched, line
        return ("layout", self._layouts[line]) if line in self._layouts else key_of(line)

    def text(self, line: int) -> str:
        """Return the key by which equal lines match."""
        return self.header_content(line) or f" {self.lines[line].strip()}"

    def similarity_key(self, line: int) -> str:
        """Return the key that two similar lines outside of operations have in common.

        It is the text of a line with a meaning without its numbers, and the first word of any other
        line.
        """
        text = self.header_content(line)
        if text:
            return _NUMBER.sub("", text)
        word = _FIRST_WORD.match(self.lines[line].strip())
        return " " + _NUMBER.sub("", word[0] if word else "")


class _Filler:
    """Builds the rows of the lines between anchors."""

    def __init__(
        self,
        left: _DocumentSide,
        right: _DocumentSide,
        layout_lines: Mapping[int, tuple[int, Change]],
        work: AlignmentBudget,
    ) -> None:
        self.left, self.right, self.work = left, right, work
        self.layout_lines = layout_lines
        self._same_names = left.functions == right.functions

    def rows(self, gap: Gap) -> list[Row]:
        """Return the rows of all lines in `gap`.

        Similar lines form pairs; the others get a row each, with the left side's first.
        """
        if self._identical(gap):
            return [Row(gap.left + n, gap.right + n, Change.EQUAL) for n in range(gap.left_end - gap.left)]
        rows: list[Row] = []
        at_left, at_right = gap.left, gap.right
        for block in (*self._blocks(gap), MatchingBlock(gap.left_end, gap.right_end, 0)):
            rows += [Row(i, None, self.left.change(i)) for i in range(at_left, block.left)]
            rows += [Row(None, j, self.right.change(j)) for j in range(at_right, block.right)]
            rows += [self._pair(block.left + n, block.right + n) for n in range(block.size)]
            at_left, at_right = block.left + block.size, block.right + block.size
        return rows

    def _identical(self, gap: Gap) -> bool:
        """Check whether both sides have the same lines, none of an operation: they match one to one.

        This holds for most of a text: the line entries and labels between operations.
        """
        size = gap.left_end - gap.left
        if size != gap.right_end - gap.right or self.layout_lines or not self._same_names:
            return False
        ours, theirs = range(gap.left, gap.left_end), range(gap.right, gap.right_end)
        if not size or self.left.lines.between(ours) != self.right.lines.between(theirs):
            return not size
        return self.left.operation_lines.isdisjoint(ours) and self.right.operation_lines.isdisjoint(theirs)

    def _pair(self, i: int, j: int) -> Row:
        if i in self.layout_lines:
            return Row(i, j, self.layout_lines[i][1])
        if i in self.left.labels and j in self.right.labels:
            return Row(i, j, classify(self.left.labels[i], self.right.labels[j], self.left.language.name))
        equal = self.left.header_content(i) == self.right.header_content(j)
        return Row(i, j, Change.EQUAL if equal else Change.TEXT)

    def _blocks(self, gap: Gap) -> list[MatchingBlock]:
        """Pair the lines outside of operations: equal ones first, then similar ones."""
        if gap.left == gap.left_end or gap.right == gap.right_end:
            return []
        left, right = range(gap.left, gap.left_end), range(gap.right, gap.right_end)
        ours, theirs = self.left.keys(left, self.left.text), self.right.keys(right, self.right.text)
        blocks = common_blocks(ours, theirs, self.work)
        if any(gaps_between(blocks, Gap(0, len(left), 0, len(right)))):
            ours = self.left.keys(left, self.left.similarity_key)
            blocks = refined(blocks, ours, self.right.keys(right, self.right.similarity_key), self.work)
        return [MatchingBlock(gap.left + block.left, gap.right + block.right, block.size) for block in blocks]
