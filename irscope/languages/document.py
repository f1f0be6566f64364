"""A parsed stage: the text as it stands, its lines, and the operations found in it.

Every language's parser makes this one shape, so alignment, facts and views need no language of their
own. The text is never changed and never lost: what a parser does not understand is an operation whose
opcode is OPAQUE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from irscope.languages.lines import Lines

OPAQUE = "?"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the user's Python. `line` counts from 1; `column` as the stage gives it, 0 if unknown.

    `inlined_at` is the place of the call that brought this code into its caller.
    """

    file: str
    line: int
    column: int = 0
    inlined_at: Location | None = None

    @property
    def outermost(self) -> Location:
        """The place in the kernel itself: the last link of the inlined-at chain."""
        place = self
        while place.inlined_at is not None:
            place = place.inlined_at
        return place


@dataclass(slots=True)
class Operation:
    """One operation or instruction.

    `line` is the index (from 0) of its line in the document, `end` one past its last line (an operation
    with regions ends behind its closing brace). `opcode` is the language's own word, with the suffixes
    that say what it does (`ld.global.v4.b32`, `tt.load`, `call @llvm.fma`). `normal` is the text with
    names of values, registers, labels, locations and debug ids made neutral: equal text, equal
    operation but for what its operands are. `results` and `operands` are the value names as written,
    `arguments` those that its regions receive (block arguments, a function's parameters).
    `parent` is the index of the operation whose region it stands in, -1 at the top; `function` is the
    index into `Document.functions`, -1 outside of any.
    """

    line: int
    end: int
    opcode: str
    normal: str
    results: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    location: Location | None = None
    parent: int = -1
    function: int = -1
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """An attribute alias that is a layout: `#blocked = #ttg.blocked<{sizePerThread = [1, 4], ...}>`.

    `kind` is `ttg.blocked`, `ttg.nvidia_mma`, ...; `fields` are its parameters as text, nested layouts
    spelled out (no alias left), so equal fields mean equal layouts. `line` is the index of its line.
    """

    alias: str
    kind: str
    fields: Mapping[str, str]
    line: int


@dataclass(frozen=True)
class Document:
    """A parsed stage. `language` is the stage table's word; operations stand in the order of the text."""

    language: str
    text: str
    operations: Sequence[Operation]
    functions: Sequence[str] = ()
    layouts: Mapping[str, Layout] = field(default_factory=dict)

    @cached_property
    def lines(self) -> Lines:
        """The text split at line feeds; joined by them it is the text again."""
        return Lines(self.text)

    @cached_property
    def operation_of_line(self) -> Mapping[int, int]:
        """Line index -> index of the operation that starts there."""
        return {operation.line: index for index, operation in enumerate(self.operations)}
