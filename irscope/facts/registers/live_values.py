"""The values that are live at the point of highest pressure, by the Python line that computed them.

The variables of a kernel by the lines that assign them, and the user's line of a location.

95: acc = tl.dot(a, b, acc)    -> line 95 of matmul.py: "acc"

The Python values that are spilled to local memory, and the lines that spill and reload them.

STL [R1+0x10], R24 (line 33)    -> R24 holds acc (line 31): acc is spilled at line 33
LDL R24, [R1+0x10] (line 35)    -> and reloaded at line 35
"""

from __future__ import annotations

import ast
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from irscope.facts.registers.liveness import MachineCode, bits
from irscope.languages.control_flow import NONE, LoopTree
from irscope.languages.document import Location, inlining_chain
from irscope.model import Kernel
from irscope.model.records import frozen, grouped
from irscope.model.text import base_name
from irscope.model.variant import SourceFunction, in_library

_Assignment = (ast.Assign, ast.AnnAssign, ast.AugAssign)


@frozen
class SourceLine:
    """A line of the user's Python: its file without the path, its number from 1, and its text ("": unknown).

    `name` is the variable that the line assigns, "" if none; `a, b` for several.
    """

    file: str
    line: int
    text: str = ""
    name: str = ""


class KernelLines:
    """The lines of a kernel and of the functions that it calls, without those of Triton's library."""

    def __init__(self, kernel: Kernel) -> None:
        self._lines: dict[tuple[str, int], SourceLine] = {}
        for function in (kernel.source, *kernel.helpers):
            if not in_library(function.file):
                self._add(function)

    def _add(self, function: SourceFunction) -> None:
        names = dict(assigned_names(function.text))
        file = base_name(function.file)
        for offset, text in enumerate(function.text.rstrip("\n").split("\n")):
            number = function.line + offset
            name = names.get(offset + 1, "")
            self._lines.setdefault((file, number), SourceLine(file, number, text.strip(), name))

    def line_of(self, location: Location | None) -> SourceLine | None:
        """Return the user's line of a location: the innermost one that the kernel's source has.

        The outermost line of the location if the source has none of them.
        """
        unknown = None
        for link in inlining_chain(location):
            unknown = SourceLine(base_name(link.file), link.line)
            source_line = self._lines.get((unknown.file, unknown.line))
            if link.removed or source_line is not None:
                return unknown if link.removed else source_line
        return unknown


def assigned_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, variables that it assigns) for each line of a function.

    Yields nothing if it is not Python. A statement of several lines has its variables on each of
    them. The line of a loop assigns none: the compiler gives it to everything that iterations pass
    on, not only to the loop's variable.
    """
    try:
        tree = ast.parse(textwrap.dedent(source))
        nodes = [node for node in ast.walk(tree) if isinstance(node, _Assignment)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = ", ".join(dict.fromkeys(_names(targets)))
        last = node.end_lineno or node.lineno
        for line in range(node.lineno, min(last, node.lineno + 99) + 1):
            if names:
                yield line, names


def _names(targets: Iterable[ast.expr]) -> Iterator[str]:
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Tuple | ast.List):
            yield from _names(target.elts)


_UNKNOWN_LINE = SourceLine("", 0)


@frozen
class LiveValue:
    """The live registers whose values one variable's lines computed.

    `lines` are those that computed it, the one with most registers first; `registers` of 32 bits per
    thread. A line computes its variable, and addresses and masks that it needs.
    """

    lines: tuple[SourceLine, ...]
    registers: float

    @property
    def name(self) -> str:
        """Return the variable that the lines assign, "" if unknown."""
        return self.lines[0].name


class SourceOfRegisters:
    """Finds the Python line that computed what a register holds."""

    def __init__(
        self,
        code: MachineCode,
        loops: LoopTree,
        source: KernelLines,
        corrected: Mapping[int, Location | None] | None = None,
    ) -> None:
        """`corrected` has the right locations of operations whose own may be wrong."""
        self._code, self._loops, self._source = code, loops, source
        self._corrected = corrected or {}
        self._line_of: dict[int, SourceLine] = {}

    def line_of(self, operation: int) -> SourceLine:
        """Return the user's line of an operation; line 0 if it has no location."""
        if operation not in self._line_of:
            default = self._code.document.operations[operation].location
            location = self._corrected.get(operation, default)
            self._line_of[operation] = self._source.line_of(location) or _UNKNOWN_LINE
        return self._line_of[operation]

    def best(self, definitions: Iterable[int], at: int) -> SourceLine:
        """Return the line of the most likely definition: in the innermost loop, then the nearest before.

        An accumulator is defined before its loop, as zero, and in it. Increments of addresses often
        have the line of the loop, which assigns no variable: then the line of their first value is
        better.
        """
        ordered = sorted(definitions, key=lambda one: (-_depth(self._loops, one), one > at, abs(at - one)))
        lines = [self.line_of(one) for one in ordered]
        return next((line for line in lines if line.name), lines[0] if lines else _UNKNOWN_LINE)


def _depth(loops: LoopTree, operation: int) -> int:
    loop = loops.loop_of(operation)
    return 0 if loop == NONE else loops.loops[loop].depth


def peak_operation(code: MachineCode, loops: LoopTree) -> int:
    """Return the operation with the highest pressure; of several, the first in the innermost loop."""
    pressure = code.liveness.pressure
    highest = max(pressure)
    return max(
        (at for at, number in enumerate(pressure) if number == highest),
        key=lambda at: (_depth(loops, at), -at),
    )


def live_values(code: MachineCode, registers: SourceOfRegisters, peak: int) -> list[LiveValue]:
    """Return the values that are live at the operation `peak`, the largest first.

    Every register that is occupied there is in exactly one value, so their sum is the pressure
    there.
    """
    live = code.liveness
    occupied, before = live.occupied(peak), live.before(peak)
    # Registers that the peak itself writes, unless only operands are counted, or it writes to an operand.
    results = live.accesses[peak].writes & occupied & ~before
    by_line: dict[SourceLine, float] = defaultdict(float)
    for register in bits(results):
        by_line[registers.line_of(peak)] += live.file.count(1 << register)
    for register, definitions in code.definitions.before(peak, occupied & ~results).items():
        by_line[registers.best(definitions, peak)] += live.file.count(1 << register)
    return by_variable(by_line)


def by_variable(found: dict[SourceLine, float]) -> list[LiveValue]:
    """Sum registers by line over the lines that assign the same variable of one file."""
    counted = (item for item in found.items() if item[1])
    groups = grouped(counted, lambda item: (item[0].file, item[0].name or item[0].line))
    values = []
    for group in groups.values():
        group.sort(key=lambda item: (-item[1], item[0].line))
        values.append(LiveValue(tuple(line for line, _ in group), sum(number for _, number in group)))
    return sorted(values, key=lambda value: (-value.registers, value.lines[0].line))


@frozen
class SpilledValue:
    """The values that one line computed and that are then kept in local memory.

    `value` is that line (line 0 if it is unknown), `words` the number of 4-byte words. `stores` and `loads`
    count the instructions by the line at which they are; the `loop_` ones are those of them in a loop, and
    run once per iteration of it. `stage_lines` are the accesses' lines in the stage (index from 0).
    """

    value: SourceLine
    words: int
    stores: tuple[tuple[SourceLine, int], ...]
    loads: tuple[tuple[SourceLine, int], ...]
    loop_stores: int
    loop_loads: int
    stage_lines: tuple[int, ...] = field(default=(), repr=False)


@dataclass
class _SpillGroup:
    slots: set[int] = field(default_factory=set)
    stores: Counter[SourceLine] = field(default_factory=Counter)
    loads: Counter[SourceLine] = field(default_factory=Counter)
    in_loop: Counter[bool] = field(default_factory=Counter)
    stage_lines: list[int] = field(default_factory=list)


def spilled_values(code: MachineCode, registers: SourceOfRegisters, loops: LoopTree) -> list[SpilledValue]:
    """Return the spilled values, those with the most accesses in loops first.

    A store counts for the value that it stores, a reload for the one that it most likely reads.
    Accesses to an unknown address have the unknown line.
    """
    lines = _lines_of_stores(code, registers)
    groups: dict[SourceLine, _SpillGroup] = defaultdict(_SpillGroup)
    for access in code.use.stack:
        operation = access.operation
        stores = [operation] if access.stores else code.reaching_stores.get(operation, ())
        group = groups[_most_common(line for store in stores for line in lines[store])]
        group.slots.update(access.slots)
        (group.stores if access.stores else group.loads)[registers.line_of(operation)] += 1
        group.in_loop[access.stores] += loops.loop_of(operation) != NONE
        group.stage_lines.append(code.document.operations[operation].line)
    values = [_value(line, group) for line, group in groups.items()]
    return sorted(values, key=lambda one: (-one.loop_loads - one.loop_stores, -one.words, one.value.line))


def _lines_of_stores(code: MachineCode, registers: SourceOfRegisters) -> dict[int, list[SourceLine]]:
    """Map each operation that stores to the stack to the lines that computed what it stores."""
    by_store = {}
    for access in code.use.stack:
        if access.stores:
            operation, mask = access.operation, access.stored
            definitions = code.definitions.before(operation, mask)
            by_store[operation] = [
                registers.best(definitions[register], operation) for register in bits(mask)
            ]
    return by_store


def _most_common(lines: Iterable[SourceLine]) -> SourceLine:
    counts = Counter(lines)
    return counts.most_common(1)[0][0] if counts else SourceLine("", 0)


def _value(line: SourceLine, group: _SpillGroup) -> SpilledValue:
    return SpilledValue(
        line,
        len(group.slots),
        tuple(group.stores.most_common()),
        tuple(group.loads.most_common()),
        group.in_loop[True],
        group.in_loop[False],
        tuple(group.stage_lines),
    )
