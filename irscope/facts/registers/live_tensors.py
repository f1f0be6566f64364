"""The tensors of TTGIR that are live at the same time, and the registers that each takes per thread.

    %acc = ttng.warp_group_dot ... -> tensor<64x128xf32, #mma>, 128 threads
    -> acc: 64x128 f32 over 128 threads: 64 registers per thread

The registers are the distinct elements that a thread holds, times their size, over 4 bytes. A tensor lives
from its definition to its last use; one that a loop uses lives to the end of that loop. Not counted are
values in shared or tensor memory, and those that the compiler recomputes or shares between elements:
constants, ranges, splats, pointers, masks, and arithmetic on nothing but those.

The source lines of HGMMA instructions, which ptxas often gives the line of another instruction.

On sm_90, a third of the HGMMA of SASS have the line of an instruction that ptxas scheduled next to them. The
`wgmma.mma_async` of PTX have the right one. Both are volatile, so their order is the same unless ptxas
copied some; then the shape decides, if only one line has it.

The types of a kernel's variables, by TTIR.

    acc = tl.dot(p.to(tl.float16), v, acc)    -> acc: 64x64 f32

The compiler names all operations of an assignment after its variable: `p.to(tl.float16)` is called acc too.
The values that another statement uses are the variable's.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from math import prod

from irscope.diff.def_use import definitions
from irscope.facts.loops.scf import LOOPS, location_chain, region_ends
from irscope.languages.document import Document, Location, Operation
from irscope.languages.mlir.value_types import shaped_values
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.linear import LinearLayout, VectorSpan, flat
from irscope.layouts.tensors import Layouts, Tensor, element_bits, tensors_of
from irscope.model.records import frozen
from irscope.model.text import pluralize
from irscope.model.variant import in_library

# Operations whose result is their operand under another name or shape: it takes no registers of its own.
_VIEWS = frozenset(
    [
        "tt.expand_dims",
        "tt.broadcast",
        "tt.reshape",
        "tt.trans",
        "tt.bitcast",
        "arith.bitcast",
        "ttng.warp_group_dot_wait",
    ]
)
# Operations whose result costs nothing to compute again, or is one value for all elements.
_CHEAP = frozenset(["arith.constant", "tt.make_range", "tt.splat", "tt.get_program_id"])
# Operations whose region combines two elements.
_COMBINING = frozenset(["tt.reduce", "tt.scan", "tt.map_elementwise"])
# Operations that bring data from memory or matrix units.
_DATA = re.compile(r"load|dot|gather|atomic")
_PARTITION = re.compile(r"\s*partition(\d{1,4})\(")
_MAX_NESTING = 64  # of loops; more are a hostile text
_WORD = 32  # bits of a register


@frozen
class LiveTensor:
    """A tensor in registers: the variable ("" if unknown), its value, and its elements per thread.

    `location` is that of the operation that defines it, `line` its line in the stage (index from 0). `loop`
    says whether it is carried by a loop. `threads` is the number of threads of a block that hold it together,
    `ctas` that of the blocks of a cluster that share it. An element that a thread holds twice counts once.
    """

    name: str
    value: str
    location: Location | None
    line: int
    shape: tuple[int, ...]
    element: str
    layout: str
    threads: int
    elements: int
    loop: bool = False
    ctas: int = 1

    @property
    def holders(self) -> str:
        """Return who holds it together: `128 threads`, `2 CTAs of 128 threads`."""
        return f"{self.threads} threads" if self.ctas == 1 else f"{self.ctas} CTAs of {self.threads} threads"

    @property
    def registers(self) -> int:
        """Return the registers per thread: a 64-bit element takes two, two 16-bit elements share one."""
        return -(-self.elements * element_bits(self.element) // _WORD)

    @property
    def replicated(self) -> bool:
        """Return True if several threads hold each element."""
        return self.elements * self.threads * self.ctas > prod(self.shape)

    @property
    def type(self) -> str:
        """Return the shape and element type: "64x128 f32"."""
        return f"{'x'.join(map(str, self.shape))} {self.element}"

    def __str__(self) -> str:
        return (
            f"{self.name or self.value}: {self.type} in {self.layout} over {self.holders}: "
            f"{pluralize(self.registers, 'register')} per thread"
        )


@frozen
class TensorPressure:
    """The tensors that are live at one point of TTGIR, the largest first, and the sum of their registers.

    `location` and `line` are those of the operation after which they are live; -1 if there are none. `after`
    has the sum after each operation, by line of the stage. `unknown` tensors have a layout that is not
    supported: the sums lack them.
    """

    tensors: Sequence[LiveTensor]
    registers: int
    location: Location | None
    line: int
    after: dict[int, int]
    unknown: int


def elements_per_thread(layout: LinearLayout) -> int:
    """Count the different elements that one thread holds."""
    vectors = [flat(vector, layout.shape) for vector in layout.bases.get("register", ())]
    return 1 << VectorSpan(vectors).rank


def tensor_pressure(document: Document, layouts: Layouts) -> TensorPressure:
    """Return the live tensors at the point of TTGIR where they need most registers.

    Takes near-linear time.
    """
    return _Analysis(document, layouts).result()


class _Analysis:
    """The live ranges of the values of one document, each by its number.

    Sibling regions use the same names for different values, so a name means its latest definition.
    """

    def __init__(self, document: Document, layouts: Layouts) -> None:
        self.document, self.operations, self.layouts = document, document.operations, layouts
        self.ends = region_ends(self.operations)
        self.unknown = 0
        self._number: dict[tuple[int, str], int] = {}  # by operation and name
        self._operands: list[list[int]] = []
        self._root: list[int] = []
        self._defined: list[int] = []
        self._born: list[int] = []
        self._dies: list[int] = []

    @cached_property
    def scopes(self) -> list[int]:
        """Map each operation to its scope: 0 for most, another number for each partition of warps.

        The warps of a partition do not hold the values around it, nor those of other partitions.
        """
        scope_numbers = [0] * len(self.operations)
        lines = [operation.line for operation in self.operations]
        starts = [
            bisect_left(lines, number)
            for number, text in enumerate(self.document.lines)
            if "partition" in text and _PARTITION.match(text)
        ]
        for number, (first, following) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=False)):
            parent = self.operations[first].parent if first < len(lines) else -1
            if parent >= 0:
                end = min(self.ends[parent] + 1, following)
                scope_numbers[first:end] = [number + 1] * (end - first)
        return scope_numbers

    @cached_property
    def loops(self) -> list[int]:
        """Map each operation to the innermost loop around it, -1 if there is none."""
        innermost = [-1] * len(self.operations)
        for index, operation in enumerate(self.operations):
            parent = operation.parent
            if parent >= 0:
                innermost[index] = parent if self.operations[parent].opcode in LOOPS else innermost[parent]
        return innermost

    def result(self) -> TensorPressure:
        """Return the live tensors at the worst point."""
        self._find_ranges()
        tensors = self._named(self._counted())
        after = self._sums(tensors)
        peak = max(range(len(after)), key=lambda index: (after[index], -index), default=-1)
        if peak < 0 or not after[peak]:
            return TensorPressure((), 0, None, -1, {}, self.unknown)
        live = [
            tensor
            for number, tensor in tensors
            if self._born[number] <= peak < self._dies[number] and self._scope(number) == self.scopes[peak]
        ]
        live.sort(key=lambda tensor: (-tensor.registers, tensor.line))
        lines = {operation.line: after[index] for index, operation in enumerate(self.operations)}
        position = self.operations[peak]
        while position.parent >= 0 and self.operations[position.parent].opcode in _COMBINING:
            position = self.operations[position.parent]
        return TensorPressure(live, after[peak], position.location, position.line, lines, self.unknown)

    def _sums(self, tensors: list[tuple[int, LiveTensor]]) -> list[int]:
        """Sum the registers of the tensors that are live after each operation, in its scope."""
        # Partitions are consecutive, and their values do not live beyond them.
        changes = [[0] * (len(self.operations) + 1) for _ in range(2)]
        for number, tensor in tensors:
            change = changes[self._scope(number) > 0]
            change[self._born[number]] += tensor.registers
            change[self._dies[number]] -= tensor.registers
        outside, inside = (list(accumulate(change)) for change in changes)
        return [(inside if scope else outside)[index] for index, scope in enumerate(self.scopes)]

    def _scope(self, number: int) -> int:
        return self.scopes[self._defined[number]]

    def _find_ranges(self) -> None:
        """Find where each value is defined and where it is used last, and give it a number."""
        current: dict[tuple[int, str], int] = {}
        for index, operation in enumerate(self.operations):
            function = operation.function
            operands = [current.get((function, name), -1) for name in operation.operands]
            self._operands.append([self._root[number] if number >= 0 else -1 for number in operands])
            for number in self._operands[-1]:
                if number >= 0:
                    self._use(index, number)
            for name in operation.arguments if operation.opcode in LOOPS else ():
                current[function, name] = self._define(index, name, index)
            for position, name in enumerate(operation.results):
                number = current[function, name] = self._define(index, name, self.ends[index])
                if operation.opcode in _VIEWS and position < len(operands) and operands[position] >= 0:
                    self._root[number] = self._operands[-1][position]

    def _define(self, index: int, name: str, born: int) -> int:
        number = self._number[index, name] = len(self._born)
        self._root.append(number)
        self._defined.append(index)
        self._born.append(born)
        self._dies.append(born)
        return number

    def _use(self, index: int, number: int) -> None:
        last, loop = index, self.loops[index]
        for _ in range(_MAX_NESTING):
            if loop < 0 or self._born[number] >= loop:
                break
            last = self.ends[loop] + 1  # the next iteration uses it again
            loop = self.loops[loop]
        self._dies[number] = max(self._dies[number], last)

    def _named(self, tensors: list[tuple[int, LiveTensor]]) -> list[tuple[int, LiveTensor]]:
        """Return the tensors, with loop arguments named after what the loop passes to its next iteration."""
        names = {number: tensor.name for number, tensor in tensors}
        yielded: dict[int, str] = {}
        for index, operation in enumerate(self.operations):
            if operation.opcode != "scf.yield" or operation.parent < 0:
                continue
            loop = self.operations[operation.parent]
            arguments = loop.arguments[-len(loop.results) :] if loop.results else ()
            for argument, number in zip(arguments, self._operands[index], strict=False):
                if name := names.get(number):
                    yielded[self._number.get((operation.parent, argument), -1)] = name
        return [
            (number, tensor if tensor.name else replace(tensor, name=yielded.get(number, "")))
            for number, tensor in tensors
        ]

    def _counted(self) -> list[tuple[int, LiveTensor]]:
        """Return the tensors that take registers, by number."""
        index_of = self.document.operation_of_line
        data: set[int] = set()
        live_tensors = []
        for tensor in tensors_of(self.document):
            index = index_of.get(tensor.index, -1)
            number = self._number.get((index, tensor.name), -1)
            if number < 0 or tensor.buffer or self._root[number] != number:
                continue
            operation = self.operations[index]
            if not self._is_data(operation, index, tensor, data):
                continue
            data.add(number)
            if self._dies[number] > self._born[number] and (live := self._live_tensor(tensor, operation)):
                live_tensors.append((number, live))
        return live_tensors

    def _is_data(self, operation: Operation, index: int, tensor: Tensor, data: set[int]) -> bool:
        """Check whether a tensor is worth registers: no address, no mask, not cheap to compute again."""
        if tensor.element == "i1" or tensor.element.startswith("!") or operation.opcode in _CHEAP:
            return False
        if not tensor.element.startswith("i") or _DATA.search(operation.opcode):
            return True
        return any(number in data for number in self._operands[index])

    def _live_tensor(self, tensor: Tensor, operation: Operation) -> LiveTensor | None:
        try:
            layout = self.layouts.of(tensor)
        except UnknownLayoutError:
            self.unknown += 1
            return None
        return LiveTensor(
            tensor.python,
            tensor.name,
            operation.location,
            tensor.index,
            tensor.shape,
            tensor.element,
            tensor.alias,
            layout.size("lane") * layout.size("warp"),
            elements_per_thread(layout),
            loop=operation.opcode in LOOPS and tensor.name in operation.arguments,
            # The blocks of a cluster that hold different parts of the tensor.
            ctas=1 << sum(any(basis) for basis in layout.bases.get("block", ())),
        )


_HGMMA = re.compile(r"[HIQB]GMMA\.(\d+)x(\d+)x(\d+)")
_WGMMA = re.compile(r"wgmma\.mma_async\..*?\bm(\d+)n(\d+)k(\d+)")


def matrix_locations(sass: Document, ptx: Document) -> dict[int, Location | None]:
    """Map each HGMMA of the SASS to its location, or None if the PTX does not determine it."""
    shapes = _shapes(sass, _HGMMA)
    expected = _shapes(ptx, _WGMMA)
    if [shape for shape, _ in shapes] == [shape for shape, _ in expected]:
        pairs = zip(shapes, expected, strict=True)
        return {index: ptx.operations[ptx_index].location for (_, index), (_, ptx_index) in pairs}
    locations: dict[str, set[Location | None]] = defaultdict(set)
    for shape, index in expected:
        locations[shape].add(ptx.operations[index].location)
    return {
        index: next(iter(locations[shape])) if len(locations[shape]) == 1 else None for shape, index in shapes
    }


def _shapes(document: Document, pattern: re.Pattern[str]) -> list[tuple[str, int]]:
    """Return the shape "64x128x16" and index of the operations whose opcode matches, in order."""
    matches = (
        (pattern.match(operation.opcode), index) for index, operation in enumerate(document.operations)
    )
    return [("x".join(match.groups()), index) for match, index in matches if match]


_NUMBER = re.compile(r"_\d+$|#\d+$")

# The shape and the element type.
TensorType = tuple[tuple[int, ...], str]


def variable_types(ttir: Document) -> Mapping[str, Set[TensorType]]:
    """Map each variable of the user's functions that holds tensors to their types."""
    operations = ttir.operations
    users: dict[int, list[Operation]] = defaultdict(list)
    for operation, sources in zip(operations, definitions(ttir), strict=True):
        for source in sources:
            if source is not None and not source.argument:
                users[source.owner].append(operation)
    types: dict[str, set[TensorType]] = defaultdict(set)
    for value in shaped_values(ttir):
        location = operations[value.operation].location
        if not value.python or (location is not None and in_library(location.file)):
            continue
        parts = [_is_part(user, value.python, location) for user in users[value.operation]]
        if not parts or not all(parts):
            types[value.python].add((tuple(map(int, value.type.shape)), value.type.element))
    return types


def _is_part(user: Operation, variable: str, location: Location | None) -> bool:
    """Check whether an operation belongs to the assignment of a variable at a location."""
    if not user.results or user.opcode.startswith("scf."):
        return False
    if _NUMBER.sub("", user.results[0].lstrip("%")) == variable:
        return True
    return location is not None and any(
        (place.file, place.line) == (location.file, location.line) for place in location_chain(user.location)
    )
