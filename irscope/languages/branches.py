"""Branches: where control goes after an operation of an assembly language.

    @%p1 bra $L__BB0_3;    -> the operation after `$L__BB0_3:`, or the next one

Each assembly language's module has a function that reads them from a parsed stage (`Language.branches`);
`irscope.languages.control_flow` makes a graph of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

from irscope.languages.document import Document, Operation
from irscope.model.records import frozen

# A label in inline assembly is visible in its braces only. Deeper braces share the scope of this depth.
_MOST_SCOPES = 16


@frozen
class Branch:
    """The operations to which control may go after an operation.

    `targets` are the indices of the operations that it may jump to. `falls_through` says whether the next
    operation may follow; `known` is False if it may also jump to a place that the text does not name.
    """

    targets: tuple[int, ...] = ()
    falls_through: bool = False
    known: bool = True


Branches = Mapping[int, Branch]


@frozen
class Jump:
    """A branch as printed, with the labels of its targets."""

    labels: tuple[str, ...] = ()
    falls_through: bool = False
    known: bool = True


class Labels:
    """The labels of a document, and the operation after each.

    `pattern` finds the lines that define a label (group 1). If it has a second group, that matches a brace at
    the start of a line, and a label can only be used inside of the braces around it. A label that is defined
    twice in one scope has no known place.
    """

    def __init__(self, document: Document, pattern: re.Pattern[str]) -> None:
        self._lines = [operation.line for operation in document.operations]
        self._places: dict[tuple[int, str], int] = {}
        self._parents = [0]
        self._scopes: list[tuple[int, int]] = [(0, 0)]  # the line at which a scope starts or goes on
        stack = [0]
        scoped = pattern.groups > 1
        lines = _line_numbers(document, pattern)
        for index, match in lines:
            if scoped and match[2]:
                self._braces(index, document.lines[index].partition("//")[0], stack)
            else:
                key = stack[min(len(stack), _MOST_SCOPES) - 1], match[1]
                operation_index = bisect_left(self._lines, index)
                self._places[key] = -1 if key in self._places else operation_index

    def _braces(self, index: int, code: str, stack: list[int]) -> None:
        """Open or close a scope at the line `index`."""
        change = code.count("{") - code.count("}")
        if change > 0:
            self._parents.append(stack[min(len(stack), _MOST_SCOPES) - 1])
            stack.append(len(self._parents) - 1)
        elif change < 0 and len(stack) > 1:
            stack.pop()
        if change:
            self._scopes.append((index, stack[min(len(stack), _MOST_SCOPES) - 1]))

    def place(self, line: int, name: str) -> int | None:
        """Return the operation after the label called `name`, as seen from `line`.

        Returns None if that is unknown.
        """
        scope = self._scopes[bisect_left(self._scopes, (line + 1, -1)) - 1][1]
        for _ in range(_MOST_SCOPES):
            if (operation_index := self._places.get((scope, name))) is not None:
                return operation_index if 0 <= operation_index < len(self._lines) else None
            scope = self._parents[scope]
        return None


def branches(
    operations: Sequence[Operation],
    jump: Callable[[Operation], Jump | None],
    place: Callable[[int, str], int | None],
) -> dict[int, Branch]:
    """Return the branches of `operations`.

    `jump` reads one, `place` finds a label as seen from a line. A label that has no place makes a
    branch unknown.
    """
    result = {}
    for index, operation in enumerate(operations):
        read = jump(operation)
        if read is None:
            continue
        label_positions = [place(operation.line, label) for label in read.labels]
        targets = tuple(dict.fromkeys(target for target in label_positions if target is not None))
        result[index] = Branch(targets, read.falls_through, read.known and None not in label_positions)
    return result


def _line_numbers(document: Document, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the matches of `pattern` in the text with the index of their line."""
    text = document.text
    index = counted_to = 0
    for match in pattern.finditer(text):
        index += text.count("\n", counted_to, match.start())
        counted_to = match.start()
        yield index, match
