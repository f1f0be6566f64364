"""The loops of a TTIR or TTGIR module: `scf.for` and `scf.while`, their bounds, and how often they run.

    %acc = scf.for %k = %c0_i32 to %1 step %c1_i32 iter_args(%x = %cst) -> (tensor<...>) : i32 {
    } {tt.num_stages = 3 : i32} loc(#loc16)

The location of the operation is the Python line of the `for` or `while` statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from irscope.diff.def_use import Definition, definitions
from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.accesses.launch_values import LaunchValue, integer_values, recorded_integers
from irscope.facts.source.map import SourcePlace, place_of
from irscope.languages.document import Document, Location, Operation, inlining_chain
from irscope.model import Variant
from irscope.model.records import frozen, grouped

NONE = -1
LOOPS = ("scf.for", "scf.while")

# A position in Python: the line itself, then those of the calls that it is inlined at.
Chain = tuple[SourcePlace, ...]

_BOUNDS = 3
_LONGEST_CHAIN = 16


@frozen
class ScfLoop:
    """A loop of MLIR.

    `operation` is its index in the document; `parent` is the index of the loop around it among all loops,
    NONE if there is none; `depth` counts from 1. `lower`, `upper` and `step` are what the bounds are
    defined by (None: unknown, or an `scf.while`).
    """

    operation: int
    chain: Chain
    parent: int
    depth: int
    lower: Definition | None
    upper: Definition | None
    step: Definition | None

    def follows(self, other: ScfLoop) -> bool:
        """Check whether it goes on where another loop ends, as the remainder of an unrolled loop does."""
        return self is not other and self.lower is not None and self.lower == other.upper


def location_chain(location: Location | None) -> Chain:
    """Return the position of a location, then those of the calls that it was inlined at, inside out."""
    return tuple(map(place_of, islice(inlining_chain(location), _LONGEST_CHAIN)))


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
                    chain=location_chain(operation.location),
                    parent=around,
                    depth=loops[around].depth + 1 if around >= 0 else 1,
                    lower=lower,
                    upper=upper,
                    step=step,
                )
            )
            around = len(loops) - 1
        loop_around.append(around)
    return loops


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


@frozen
class TripCount:
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
    by_chain = grouped((loop for loop in scf_loops(ttir) if loop.chain), lambda loop: loop.chain)
    if not by_chain:
        return {}
    values = _known_arguments(variant) if variant else {}
    flow = AxisFlow(ttir)
    known = integer_values(flow, values)
    trips = {}
    for chain, loops in by_chain.items():
        iterations = _iterations(loops, known)
        if iterations is not None:
            bounds = (bound for loop in loops for bound in (loop.lower, loop.upper, loop.step) if bound)
            names = {flow.parameters[origin].name for bound in bounds for origin in flow.origins(bound)}
            used = tuple((name, values[name]) for name in sorted(names & values.keys()))
            trips[chain] = TripCount(iterations, used)
    return trips


def _known_arguments(variant: Variant) -> dict[str, int]:
    """Return the integers of the first launch's arguments, and those that the variant specializes."""
    by_name = {
        argument.name: argument.value
        for argument in variant.specialization
        if isinstance(argument.value, int) and not isinstance(argument.value, bool)
    }
    return by_name | recorded_integers(next(iter(variant.launches), None))


def _iterations(loops: Sequence[ScfLoop], known: Mapping[Definition, LaunchValue]) -> int | None:
    """Count the iterations of a statement: one loop, or an unrolled one and what it leaves over.

    None if the bounds are not known.
    """
    counts, steps = [], []
    for loop in loops:
        lower, upper, step = (integer_of(bound, known) for bound in (loop.lower, loop.upper, loop.step))
        if lower is None or upper is None or step is None or step <= 0:
            return None
        counts.append(max(0, -((lower - upper) // step)))
        steps.append(step)
    if len(loops) == 1:
        return counts[0]
    if len(loops) > 2 or not loops[1].follows(loops[0]):
        return None
    return counts[0] * (steps[0] // steps[1]) + counts[1]


def integer_of(value: Definition | None, known: Mapping[Definition, LaunchValue]) -> int | None:
    """Return the one number that a value is, or None if it is not known."""
    number = known.get(value) if value else None
    return number.single if number else None
