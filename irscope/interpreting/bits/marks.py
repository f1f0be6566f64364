"""What each operation computed, in two numbers: they tell which operation is the first to differ in B."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irscope.interpreting.bits.elementwise import LOADS, verb_of
from irscope.interpreting.bits.hashed import note_of
from irscope.interpreting.runtime_values import RuntimeValue
from irscope.interpreting.stage_program import Op, Place

# About so many elements of larger results are looked at.
_MOST = 1 << 14


@dataclass(slots=True)
class Mark:
    """An operation, and the smallest and the largest hash that it computed in all its executions.

    `verb` says what it does ("" if nothing that a user sees), `operands` are the names of what it takes.
    """

    verb: str
    operands: tuple[str, ...]
    line: int
    place: Place
    extent: tuple[int, int]


# The marks of a stage by the name of the result.
Marks = Mapping[str, Mark]


def add_mark(marks: dict[str, Mark], step: Op, name: str, value: RuntimeValue) -> None:
    """Add what an operation computed once."""
    chain = note_of(value).chain
    parts = [value.data] if chain is None else [value.data, chain.rows, chain.columns]
    samples = [part.reshape(-1)[:: part.size // _MOST + 1] for part in parts]
    low, high = sum(int(part.min()) for part in samples), sum(int(part.max()) for part in samples)
    mark = marks.get(name)
    if mark is None:
        marks[name] = Mark(verb_of(step), step.operands, step.line, step.place, (low, high))
    else:
        mark.extent = min(mark.extent[0], low), max(mark.extent[1], high)


def differing(marks: Marks, others: Marks) -> list[Mark]:
    """Return the operations that compute from the same operands what no operation of the other variant does.

    Empty if the other variant does not read the same elements.
    """
    extents = {mark.extent for mark in others.values()}
    missing = {name: mark for name, mark in marks.items() if mark.extent not in extents}
    if any(mark.verb == LOADS for mark in missing.values()):
        return []
    return [mark for mark in missing.values() if mark.verb and missing.keys().isdisjoint(mark.operands)]


def verbs_at(place: Place, marks: Marks, others: Marks) -> list[str]:
    """Return what is computed at a place, as far as the other variant does not compute the same."""
    extents = {mark.extent for mark in others.values()}
    here = [m for m in marks.values() if m.place == place and m.extent not in extents]
    return [mark.verb for mark in here if mark.verb not in ("", LOADS)]
