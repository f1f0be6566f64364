"""Says what changed in a row whose two lines read the same: the constant that an operand is.

    %a = arith.divsi %n, %c : i32
    %a = arith.divsi %n, %c : i32        -> %c: arith.constant 8 : i32 -> arith.constant 4 : i32

Names carry no meaning, so that a diff of the two lines alone marks nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from irscope.diff.rows import Change, Row, StageDiff
from irscope.languages.document import Document, Operation
from irscope.languages.language_registry import line_without_location
from irscope.model.text import display_line

if TYPE_CHECKING:
    from irscope.diff.def_use import Definitions


class OperandNotes:
    """Describes the constant operands that changed, row by row. Reads the definitions once, if it must."""

    def __init__(self, diff: StageDiff) -> None:
        self._diff = diff

    def of_row(self, row: Row) -> str:
        """Return `%c: arith.constant 8 : i32 -> arith.constant 4 : i32`, or "" if no constant changed."""
        if not row.change & Change.CONSTANT or row.left is None or row.right is None:
            return ""
        left, right = self._diff.left, self._diff.right
        index, other = left.operation_of_line.get(row.left), right.operation_of_line.get(row.right)
        if index is None or other is None:
            return ""
        notes = []
        for was, now in zip(self._constants(0, index), self._constants(1, other), strict=False):
            if was and now and was[1].normalized != now[1].normalized:
                notes.append(f"{was[0]}: {_value(left, was[1])} -> {_value(right, now[1])}")
        return "; ".join(dict.fromkeys(notes))

    @cached_property
    def _definitions(self) -> tuple[Definitions, Definitions]:
        from irscope.diff.def_use import definitions  # the app opens without a diff

        return definitions(self._diff.left), definitions(self._diff.right)

    def _constants(self, side: int, index: int) -> list[tuple[str, Operation] | None]:
        """Return the name and definition of each operand that is a constant; None for the others."""
        document = (self._diff.left, self._diff.right)[side]
        constants: list[tuple[str, Operation] | None] = []
        names = document.operations[index].operands
        for name, definition in zip(names, self._definitions[side][index], strict=False):
            owner = document.operations[definition.owner] if definition else None
            is_constant = owner is not None and owner.opcode.endswith(".constant")
            constants.append((name, owner) if owner and is_constant else None)
        return constants


def _value(document: Document, constant: Operation) -> str:
    text = display_line(line_without_location(document.lines[constant.line], document.language))
    return text.partition(" = ")[2].strip() or text.strip()
