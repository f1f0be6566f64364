"""What another value of a constant makes differ beside the constants themselves."""

from __future__ import annotations

from irscope.diff.rows import Change, Row, StageDiff

# Operations that are a value and read none; two that became equal are one.
_CONSTANTS = ("arith.constant", "tt.make_range")
_FROM_CONSTANTS = (
    Change.SHAPE | Change.CONSTANT | Change.REWIRED | Change.TEXT | Change.ADDED | Change.REMOVED
)


def by_constants_alone(diff: StageDiff) -> bool:
    """Whether all that is added or removed are constants: what uses them is rewired, and nothing else."""
    moved = [row for row in diff.rows if row.change & (Change.ADDED | Change.REMOVED)]
    others = [row for row in diff.rows if row.change & ~_FROM_CONSTANTS]
    return bool(moved) and not others and not diff.layouts and all(is_constant(diff, row) for row in moved)


def is_constant(diff: StageDiff, row: Row) -> bool:
    """Whether the operation of a row that one side alone has is a constant."""
    document, line = (diff.left, row.left) if row.right is None else (diff.right, row.right)
    index = None if line is None else document.operation_of_line.get(line)
    return index is not None and document.operations[index].opcode in _CONSTANTS
