"""What each operation computed, in two numbers: they tell which operation is the first to differ in B."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from irscope.interpreting.bits.elementwise import verb_of
from irscope.interpreting.bits.hashed import note_of
from irscope.interpreting.runtime_values import RuntimeValue
from irscope.interpreting.stage_program import Op
from irscope.languages.document import Location

# Of larger results, so many elements are looked at.
_MOST = 1 << 14
_RANDOM = "random.py"


@dataclass(slots=True)
class Mark:
    """An operation, and the smallest and the largest hash that it computed in all its executions.

    `verb` says what it does (""), `operands` are the names of what it takes.
    """

    verb: str
    operands: tuple[str, ...]
    line: int
    source_line: int
    helper_line: Location | None
    random: bool
    is_load: bool
    low: int
    high: int

    @property
    def extent(self) -> tuple[int, int]:
        """Return the two hashes."""
        return self.low, self.high

    @property
    def place(self) -> tuple[int, Location | None]:
        """Return the line of the kernel, and that of the helper."""
        return self.source_line, self.helper_line


# The marks of a stage by the name of the result.
Marks = Mapping[str, Mark]


def add_mark(marks: dict[str, Mark], step: Op, name: str, value: RuntimeValue) -> None:
    """Add what an operation computed once."""
    low, high = _extent(value)
    mark = marks.get(name)
    if step.opcode == "arith.constant":
        return
    if mark is not None:
        mark.low, mark.high = min(mark.low, low), max(mark.high, high)
        return
    random = step.location is not None and step.location.file.endswith(_RANDOM)
    marks[name] = Mark(
        verb_of(step), step.operands, step.line, step.source_line, step.helper_line, random,
        step.opcode.endswith("load"), low, high,
    )  # fmt: skip


def _extent(value: RuntimeValue) -> tuple[int, int]:
    data = value.data.reshape(-1)
    low = high = 0
    chain = note_of(value).chain
    for part in (data, chain.rows.reshape(-1), chain.columns.reshape(-1)) if chain is not None else (data,):
        some = part[:: max(1, len(part) // _MOST)]
        low, high = 31 * low + int(some.min()), 31 * high + int(some.max())
    return low, high


def first_differences(a: Marks, b: Marks) -> tuple[list[Mark], list[Mark]]:
    """Return the operations of A and of B that compute something else than the other from equal operands.

    Empty if the two do not read the same elements.
    """
    extents_a, extents_b = ({mark.extent for mark in marks.values()} for marks in (a, b))
    for marks, extents in ((a, extents_b), (b, extents_a)):
        if any(mark.is_load and mark.extent not in extents for mark in marks.values()):
            return [], []
    return list(_differing(a, extents_b)), list(_differing(b, extents_a))


def _differing(marks: Marks, others: set[tuple[int, int]]) -> Iterator[Mark]:
    for mark in marks.values():
        if mark.extent not in others and (mark.verb or mark.random):
            operands = [marks[name] for name in mark.operands if name in marks]
            if all(operand.extent in others for operand in operands):
                yield mark


def verbs_at(marks: Marks, place: tuple[int, Location | None], others: Marks) -> list[str]:
    """Return what is computed at a place, as far as the other variant does not compute the same."""
    extents = {mark.extent for mark in others.values()}
    return [
        mark.verb
        for mark in marks.values()
        if mark.place == place and mark.verb and mark.extent not in extents
    ]
