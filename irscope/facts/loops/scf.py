"""The loops of a TTIR or TTGIR module: `scf.for` and `scf.while`, their bounds, and how often they run.

    %acc = scf.for %k = %c0_i32 to %1 step %c1_i32 iter_args(%x = %cst) -> (tensor<...>) : i32 {
    } {tt.num_stages = 3 : i32} loc(#loc16)

The location of the operation is the Python line of the `for` or `while` statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from irscope.diff.def_use import Definition, Definitions, definitions
from irscope.facts.source.map import SourcePlace, place_of
from irscope.languages.document import Document, Location, Operation
from irscope.model.records import FrozenValue

NONE = -1
LOOPS = ("scf.for", "scf.while")

# A position in Python: the line itself, then those of the calls that it is inlined at.
Chain = tuple[SourcePlace, ...]

_ATTRIBUTES = re.compile(r"^\s*\} (?:attributes )?\{([^\n]*)\}(?: loc\([^\n]*\))?\s*$")
_ATTRIBUTE = re.compile(r"([\w.]+)(?: = ([^,]+))?")
_CONSTANT = re.compile(r"arith\.constant (-?\d{1,19}) :")
_BOUNDS = 3
_LARGEST = 1 << 63
_DEEPEST = 32
_LONGEST_CHAIN = 16


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScfLoop(FrozenValue):
    """A loop of MLIR.

    `operation` is its index in the document; `parent` is the index of the loop around it among all loops,
    NONE if there is none; `depth` counts from 1. `lower`, `upper` and `step` are what the bounds are
    defined by (None: unknown, or an `scf.while`), `carried` is the number of values that an iteration
    hands to the next. `attributes` are Triton's ("tt.num_stages": "3"; "" for a flag).
    """

    operation: int
    opcode: str
    location: Location | None
    chain: Chain
    parent: int
    depth: int
    lower: Definition | None = None
    upper: Definition | None = None
    step: Definition | None = None
    carried: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)


def location_chain(location: Location | None) -> Chain:
    """Return the position of a location, then those of the calls that it was inlined at, inside out."""
    chain: list[SourcePlace] = []
    while location is not None and len(chain) < _LONGEST_CHAIN:
        chain.append(place_of(location))
        location = location.inlined_at
    return tuple(chain)


def scf_loops(document: Document) -> list[ScfLoop]:
    """Return the loops of a module in the order of the text."""
    defined = definitions(document)
    loops: list[ScfLoop] = []
    loop_around: list[int] = []  # for each operation, the loop that it is in, or that it is
    for index, operation in enumerate(document.operations):
        around = loop_around[operation.parent] if operation.parent >= 0 else NONE
        if operation.opcode in LOOPS:
            loops.append(
                _loop(document, index, defined, around, loops[around].depth + 1 if around >= 0 else 1)
            )
            around = len(loops) - 1
        loop_around.append(around)
    return loops


def loops_around(document: Document, loops: list[ScfLoop]) -> list[int]:
    """Map each operation to the index of the innermost loop that it is in, NONE outside of all loops."""
    index_of = {loop.operation: index for index, loop in enumerate(loops)}
    innermost: list[int] = []
    including_self: list[int] = []
    for index, operation in enumerate(document.operations):
        around = including_self[operation.parent] if operation.parent >= 0 else NONE
        innermost.append(around)
        including_self.append(index_of.get(index, around))
    return innermost


def _loop(document: Document, index: int, defined: Definitions, parent: int, depth: int) -> ScfLoop:
    operation = document.operations[index]
    lower = upper = step = None
    if operation.opcode == "scf.for" and len(defined[index]) >= _BOUNDS:
        lower, upper, step = defined[index][:_BOUNDS]
    return ScfLoop(
        operation=index,
        opcode=operation.opcode,
        location=operation.location,
        chain=location_chain(operation.location),
        parent=parent,
        depth=depth,
        lower=lower,
        upper=upper,
        step=step,
        carried=len(operation.results),
        attributes=_attributes(document, operation),
    )


def _attributes(document: Document, operation: Operation) -> dict[str, str]:
    match = (
        _ATTRIBUTES.match(document.lines[operation.end - 1]) if operation.end > operation.line + 1 else None
    )
    if match is None:
        return {}
    return {name: (value or "").partition(" : ")[0].strip() for name, value in _ATTRIBUTE.findall(match[1])}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluated(FrozenValue):
    """An integer that a module computes, and the parameters of the kernel that it depends on."""

    value: int
    parameters: frozenset[str] = frozenset()


class IntegerEvaluator:
    """Computes integers of a TTIR module from its constants and from the values of parameters by name."""

    def __init__(self, document: Document, values: Mapping[str, int]) -> None:
        self._operations = document.operations
        self._defined = definitions(document)
        self._values = values
        self._known: dict[Definition, Evaluated | None] = {}

    def integer(self, value: Definition | None, depth: int = 0) -> Evaluated | None:
        """Return the value of a definition, or None if it is not known, or not computed from integers."""
        if value is None or depth > _DEEPEST:
            return None
        if value not in self._known:
            self._known[value] = self._integer(value, depth)
        return self._known[value]

    def _integer(self, value: Definition, depth: int) -> Evaluated | None:
        operation = self._operations[value.owner]
        if value.argument:
            return self._parameter(operation, value.position)
        if match := _CONSTANT.search(operation.normalized):
            return Evaluated(int(match[1]))
        compute = _OPERATIONS.get(operation.opcode)
        if compute is None:
            return None
        operands = [self.integer(operand, depth + 1) for operand in self._defined[value.owner]]
        return _computed(compute, operands)

    def _parameter(self, function: Operation, position: int) -> Evaluated | None:
        if function.opcode != "tt.func" or position >= len(function.arguments):
            return None
        name = function.arguments[position].lstrip("%")
        return Evaluated(self._values[name], frozenset([name])) if name in self._values else None

    def trip_count(self, loop: ScfLoop) -> Evaluated | None:
        """Count the iterations of an `scf.for`; None if its bounds are not known."""
        bounds = [self.integer(bound) for bound in (loop.lower, loop.upper, loop.step)]
        known_bounds = [bound for bound in bounds if bound is not None]
        if len(known_bounds) != _BOUNDS or known_bounds[2].value <= 0:
            return None
        lower, upper, step = (bound.value for bound in known_bounds)
        count = max(0, -((lower - upper) // step))
        return Evaluated(count, frozenset().union(*(bound.parameters for bound in known_bounds)))


def _computed(compute: Callable[..., int], operands: Sequence[Evaluated | None]) -> Evaluated | None:
    known_operands = [operand for operand in operands if operand is not None]
    if len(known_operands) != len(operands) or not known_operands:
        return None
    try:
        result = compute(*(operand.value for operand in known_operands))
    except (TypeError, ZeroDivisionError):
        return None
    if abs(result) > _LARGEST:
        return None
    return Evaluated(result, frozenset().union(*(operand.parameters for operand in known_operands)))


def _divide(a: int, b: int) -> int:
    """Divide and round toward zero, as arith.divsi does."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_OPERATIONS: Mapping[str, Callable[..., int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _divide,
    "arith.divui": _divide,
    "arith.remui": lambda a, b: a - b * _divide(a, b),
    "arith.ceildivsi": lambda a, b: -((-a) // b),
    "arith.remsi": lambda a, b: a - b * _divide(a, b),
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.extsi": lambda a: a,
    "arith.trunci": lambda a: a,
    "arith.index_cast": lambda a: a,
}
