"""The loops of a TTIR or TTGIR module: `scf.for` and `scf.while`, their bounds, and how often they run.

    %acc = scf.for %k = %c0_i32 to %1 step %c1_i32 iter_args(%x = %cst) -> (tensor<...>) : i32 {
    } {tt.num_stages = 3 : i32} loc(#loc16)

The location of the operation is the Python line of the `for` or `while` statement.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from irscope.diff.def_use import Definition, definitions
from irscope.facts.source.map import SourcePlace, place_of
from irscope.languages.document import Document, Location, Operation
from irscope.model import Variant
from irscope.model.records import FrozenValue

NONE = -1
LOOPS = ("scf.for", "scf.while")

# A position in Python: the line itself, then those of the calls that it is inlined at.
Chain = tuple[SourcePlace, ...]

_ATTRIBUTES = re.compile(r"^\s*\} (?:attributes )?\{([^\n]*)\}(?: loc\([^\n]*\))?\s*$")
_ATTRIBUTE = re.compile(r"([\w.]+)(?: = ([^,]+))?")
_INTEGER = re.compile(r"-?\d{1,19}")
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

    def follows(self, other: ScfLoop) -> bool:
        """Check whether it goes on where another loop ends, as the remainder of an unrolled loop does."""
        return self is not other and self.lower is not None and self.lower == other.upper


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
            bounded = operation.opcode == "scf.for" and len(defined[index]) >= _BOUNDS
            lower, upper, step = defined[index][:_BOUNDS] if bounded else (None, None, None)
            loops.append(
                ScfLoop(
                    operation=index,
                    opcode=operation.opcode,
                    location=operation.location,
                    chain=location_chain(operation.location),
                    parent=around,
                    depth=loops[around].depth + 1 if around >= 0 else 1,
                    lower=lower,
                    upper=upper,
                    step=step,
                    carried=len(operation.results),
                    attributes=_attributes(document, operation),
                )
            )
            around = len(loops) - 1
        loop_around.append(around)
    return loops


def _attributes(document: Document, operation: Operation) -> dict[str, str]:
    several_lines = operation.end > operation.line + 1
    match = _ATTRIBUTES.match(document.lines[operation.end - 1]) if several_lines else None
    attributes = _ATTRIBUTE.findall(match[1]) if match else ()
    return {name: value.partition(" : ")[0].strip() for name, value in attributes}


def loops_around(document: Document, loops: Sequence[ScfLoop]) -> list[int]:
    """Map each operation to the index of the innermost loop that it is in, NONE outside of all loops."""
    index_of = {loop.operation: index for index, loop in enumerate(loops)}
    innermost: list[int] = []
    for operation in document.operations:
        parent = operation.parent
        innermost.append(index_of.get(parent, innermost[parent]) if parent >= 0 else NONE)
    return innermost


def region_ends(operations: Sequence[Operation]) -> list[int]:
    """Map each operation to the last operation inside of it; itself if it has no region."""
    ends = list(range(len(operations)))
    for index in range(len(ends) - 1, -1, -1):
        parent = operations[index].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[index])
    return ends


class Evaluated(NamedTuple):
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
            arguments = operation.arguments if operation.opcode == "tt.func" else ()
            name = arguments[value.position].lstrip("%") if value.position < len(arguments) else ""
            return Evaluated(self._values[name], frozenset([name])) if name in self._values else None
        if match := _CONSTANT.search(operation.normalized):
            return Evaluated(int(match[1]))
        compute = _OPERATIONS.get(operation.opcode)
        if compute is None:
            return None
        return _computed(
            compute, [self.integer(operand, depth + 1) for operand in self._defined[value.owner]]
        )

    def trip_count(self, loop: ScfLoop) -> Evaluated | None:
        """Count the iterations of an `scf.for`; None if its bounds are not known."""
        return _computed(_iterations, [self.integer(bound) for bound in (loop.lower, loop.upper, loop.step)])

    def total(self, loops: Sequence[ScfLoop]) -> Evaluated | None:
        """Count the iterations of a statement: one loop, or an unrolled one and what it leaves over."""
        if len(loops) == 1:
            return self.trip_count(loops[0])
        if len(loops) > 2 or not loops[1].follows(loops[0]):
            return None
        numbers = [*map(self.trip_count, loops), *(self.integer(loop.step) for loop in loops)]
        return _computed(lambda a, b, step, rest: a * (step // max(1, rest)) + b, numbers)


def _computed(compute: Callable[..., int | None], operands: Sequence[Evaluated | None]) -> Evaluated | None:
    """Compute a number from others; None if one of them is unknown, or the result is."""
    known_operands = [operand for operand in operands if operand is not None]
    if len(known_operands) != len(operands) or not known_operands:
        return None
    try:
        result = compute(*(operand.value for operand in known_operands))
    except (TypeError, ZeroDivisionError):
        return None
    if result is None or abs(result) > _LARGEST:
        return None
    return Evaluated(result, frozenset().union(*(operand.parameters for operand in known_operands)))


def _iterations(lower: int, upper: int, step: int) -> int | None:
    return max(0, -((lower - upper) // step)) if step > 0 else None


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TripCount(FrozenValue):
    """How often a loop runs, and the arguments of the launch that this follows from."""

    iterations: int
    arguments: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """Return `64 iterations for K=4096`."""
        arguments_text = ", ".join(f"{name}={value}" for name, value in self.arguments)
        text = f"{self.iterations:,} iteration{'' if self.iterations == 1 else 's'}"
        return f"{text} for {arguments_text}" if arguments_text else text


def trip_counts(ttir: Document, variant: Variant | None) -> Mapping[Chain, TripCount]:
    """Return how often a kernel's loops run, as far as constants and the first launch determine it."""
    values = _known_arguments(variant) if variant else {}
    evaluator = IntegerEvaluator(ttir, values)
    by_chain: dict[Chain, list[ScfLoop]] = defaultdict(list)
    for loop in scf_loops(ttir):
        if loop.chain:
            by_chain[loop.chain].append(loop)
    totals = ((chain, evaluator.total(loops)) for chain, loops in by_chain.items())
    return {
        chain: TripCount(total.value, tuple((name, values[name]) for name in sorted(total.parameters)))
        for chain, total in totals
        if total
    }


def _known_arguments(variant: Variant) -> dict[str, int]:
    """Return the integers of the first launch's arguments, and those that the variant specializes."""
    by_name = {
        argument.name: argument.value
        for argument in variant.specialization
        if isinstance(argument.value, int) and not isinstance(argument.value, bool)
    }
    for launch in variant.launches[:1]:
        by_name |= {name: int(value) for name, value in launch.arguments if _INTEGER.fullmatch(value)}
    return by_name
