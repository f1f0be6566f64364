"""A parsed stage: its text, its lines, and its operations.

Every language's parser produces this shape, so alignment, facts and views are independent of the language:

    %3 = tt.load %2 : tensor<64x!tt.ptr<f32>, #blocked> loc(#loc5)
    -> opcode "tt.load", results ("%3",), operands ("%2",), location kernels.py:14,
       normalized "% = tt.load % : tensor<64x!tt.ptr<f32>, #ttg.blocked>"

The text is never changed and never lost: a line that a parser does not understand is an operation whose
opcode is OPAQUE.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import overload

from irscope.model.records import frozen, frozen_with_dict

OPAQUE = "?"

_LINE_FEED = re.compile("\n")
# Characters of a text that are split into lines at once.
_PIECE = 1 << 18


class Lines(Sequence[str]):
    """`text` split at line feeds.

    Lines are cut out of the text when they are read, at 8 bytes per line instead of 60 and a copy of the
    text: a screen shows a hundred of 54,000.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        ends = (match.end() for match in _LINE_FEED.finditer(text))
        # The start of each line, and the start of the one that would follow the last.
        self._starts = array("Q", (0, *ends, len(text) + 1))

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[line] for line in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.text[self._starts[index] : self._starts[index + 1] - 1]

    def between(self, lines: range) -> str:
        """Return the text of one or more consecutive lines, joined with line feeds."""
        return self.text[self._starts[lines.start] : self._starts[lines.stop] - 1]

    def __iter__(self) -> Iterator[str]:
        return each_line(self.text)


def each_line(text: str) -> Iterator[str]:
    """Yield the lines of `text` in order.

    A list of 1,000,000 of them would take 80 MB; this splits pieces.
    """
    start = 0
    while (end := text.find("\n", start + _PIECE)) >= 0:
        yield from text[start:end].split("\n")
        start = end + 1
    yield from text[start:].split("\n")


# Compared and hashed often: not a FrozenValue, which is slower at that.
@frozen
class Location:
    """A position in the user's Python.

    `file` is the path of the file. `line` counts from 1; `column` is the stage's own number, 0 if unknown.
    `inlined_at` is the location of the call through which this code was inlined. In a comparison, A's
    locations are given as lines of B; `removed` marks those of lines that B does not have, whose file and
    line are A's.
    """

    file: str
    line: int
    column: int = 0
    inlined_at: Location | None = None
    removed: bool = False

    @property
    def outermost(self) -> Location:
        """Return the location in the kernel itself: the last link of the inlined-at chain."""
        *_, outermost = inlining_chain(self)
        return outermost


def inlining_chain(location: Location | None) -> Iterator[Location]:
    """Yield a location and those of the calls that it is inlined at, inside out; none if it is unknown."""
    while location is not None:
        yield location
        location = location.inlined_at


@dataclass(slots=True)
class Operation:
    """One operation or instruction.

    `line` is the index (from 0) of its line in the document, `end` one past its last line (an operation with
    regions ends after its closing brace). `opcode` is the language's own, with the suffixes that determine
    what it does (`ld.global.v4.b32`, `tt.load`, `call @llvm.fma`). `normalized` is the text without the names
    of values, registers and labels, locations and debug ids: two operations with equal normalized text differ
    at most in their operands. `results` and `operands` are the names of values as printed, `arguments` the
    ones that its regions define (block arguments, the parameters of a function). `location` is the position
    in the user's Python (None: unknown). `parent` is the index of the operation that contains it, -1 at the
    top level; `function` is an index into `Document.functions`, -1 outside of all functions.
    """

    line: int
    end: int
    opcode: str
    normalized: str
    results: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    location: Location | None = None
    parent: int = -1
    function: int = -1
    arguments: tuple[str, ...] = ()


@frozen
class Layout:
    """An attribute alias that is a layout: `#blocked = #ttg.blocked<{sizePerThread = [1, 4], ...}>`.

    `alias` is the name (`#blocked`). `kind` is `ttg.blocked`, `ttg.nvidia_mma`, ...; `fields` are its
    parameters as text, with aliases in nested layouts expanded, so equal fields mean equal layouts. `line` is
    the index of its line.
    """

    alias: str
    kind: str
    fields: Mapping[str, str]
    line: int


@frozen_with_dict
class Document:
    """A parsed stage.

    `language` is the name of the language in the stage table, `text` the stage as it is. `operations` are in
    the order of the text. `functions` are the names of its functions, `layouts` the aliases that are layouts.
    `labels` are the lines that begin a block with arguments, or a further region of an operation, with their
    normalized texts: `^bb0(%x: f32):`, `partition0(%y: i32) num_warps(4) {`.
    """

    language: str
    text: str
    operations: Sequence[Operation]
    functions: Sequence[str] = ()
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    labels: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def lines(self) -> Lines:
        """Return the text split at line feeds; joined with line feeds, they are the text again."""
        return Lines(self.text)

    @cached_property
    def operation_of_line(self) -> Mapping[int, int]:
        """Line index -> index of the operation that starts there."""
        return {operation.line: index for index, operation in enumerate(self.operations)}

    def operation_at(self, line: int | None) -> Operation | None:
        """Return the operation that starts on a line (index from 0), or None if none does."""
        index = None if line is None else self.operation_of_line.get(line)
        return None if index is None else self.operations[index]

    def location_at(self, line: int | None) -> Location | None:
        """Return the location of the operation that starts on a line, or None if it is unknown."""
        operation = self.operation_at(line)
        return operation.location if operation else None

    def relocated(self, move: Callable[[Location], Location]) -> Document:
        """Return a copy whose locations, and those they are inlined at, are moved by `move`.

        `move` receives each position without its inlined-at chain.
        """
        moved: dict[int, Location | None] = {id(None): None}
        operations = [
            Operation(
                operation.line,
                operation.end,
                operation.opcode,
                operation.normalized,
                operation.results,
                operation.operands,
                _moved(operation.location, move, moved),
                operation.parent,
                operation.function,
                operation.arguments,
            )
            for operation in self.operations
        ]
        return replace(self, operations=operations)


def _moved(
    location: Location | None, move: Callable[[Location], Location], known: dict[int, Location | None]
) -> Location | None:
    """Move a location with its inlined-at chain.

    Parsers share locations, so `known` is by identity.
    """
    chain = []
    current = location
    while current is not None and id(current) not in known:
        chain.append(current)
        current = current.inlined_at
    caller = known[id(current)]
    for link in reversed(chain):
        moved_link = move(link)
        caller = Location(moved_link.file, moved_link.line, moved_link.column, caller, moved_link.removed)
        known[id(link)] = caller
    return caller
