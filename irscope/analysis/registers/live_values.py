"""The values that are live at the point of highest pressure, by the Python line that computed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from irscope.analysis.registers.definitions import bits
from irscope.analysis.registers.machine_code import MachineCode
from irscope.analysis.registers.python_names import KernelSource, SourceLine
from irscope.languages.control_flow import NONE
from irscope.languages.document import Location
from irscope.languages.loops import LoopTree
from irscope.model.frozen_value import FrozenValue

_UNKNOWN_LINE = SourceLine("", 0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LiveValue(FrozenValue):
    """The live registers whose values one variable's lines computed.

    `lines` are those that computed it, the one with most registers first; `registers` of 32 bits per
    thread. A line computes its variable, and addresses and masks that it needs.
    """

    lines: tuple[SourceLine, ...]
    registers: float

    @property
    def name(self) -> str:
        """The variable that the lines assign, "" if unknown."""
        return self.lines[0].name


class SourceOfRegisters:
    """Finds the Python line that computed what a register holds."""

    def __init__(
        self,
        code: MachineCode,
        loops: LoopTree,
        source: KernelSource,
        corrected: Mapping[int, Location | None] | None = None,
    ) -> None:
        """`corrected` has the right locations of operations whose own may be wrong."""
        self._code, self._loops, self._source = code, loops, source
        self._corrected = corrected or {}
        self._line_of: dict[int, SourceLine] = {}

    def line_of(self, operation: int) -> SourceLine:
        """The user's line of an operation; line 0 if it has no location."""
        if operation not in self._line_of:
            own = self._code.document.operations[operation].location
            location = self._corrected.get(operation, own)
            self._line_of[operation] = self._source.line_of(location) or _UNKNOWN_LINE
        return self._line_of[operation]

    def best(self, definitions: Iterable[int], at: int) -> SourceLine:
        """The line of the most likely of several definitions: in the innermost loop, then the nearest before.

        An accumulator is defined before its loop, as zero, and in it. Increments of addresses often have the
        line of the loop, which assigns no variable: then the line of their first value is better.
        """
        ordered = sorted(definitions, key=lambda one: (-_depth(self._loops, one), one > at, abs(at - one)))
        lines = [self.line_of(one) for one in ordered]
        return next((line for line in lines if line.name), lines[0] if lines else _UNKNOWN_LINE)


def _depth(loops: LoopTree, operation: int) -> int:
    loop = loops.loop_of(operation)
    return 0 if loop == NONE else loops.loops[loop].depth


def peak_operation(code: MachineCode, loops: LoopTree) -> int:
    """The operation with the highest pressure; of several, the first in the innermost loop."""
    pressure = code.liveness.pressure
    highest = max(pressure)
    return max(
        (at for at, number in enumerate(pressure) if number == highest),
        key=lambda at: (_depth(loops, at), -at),
    )


def live_values(code: MachineCode, registers: SourceOfRegisters, peak: int) -> list[LiveValue]:
    """The values that are live at the operation `peak`, the largest first.

    Every register that is occupied there is in exactly one value, so their sum is the pressure there.
    """
    live = code.liveness
    occupied, before = live.occupied(peak), live.before(peak)
    # Registers that the peak itself writes, unless only operands are counted, or it writes to an operand.
    written = live.accesses[peak].writes & occupied & ~before
    found: dict[SourceLine, float] = defaultdict(float)
    for register in bits(written):
        found[registers.line_of(peak)] += live.file.count(1 << register)
    for register, definitions in code.definitions.before(peak, occupied & ~written).items():
        found[registers.best(definitions, peak)] += live.file.count(1 << register)
    return by_variable(found)


def by_variable(found: dict[SourceLine, float]) -> list[LiveValue]:
    """Registers by line, summed over the lines that assign the same variable of one file."""
    groups: dict[tuple[str, str | int], list[tuple[SourceLine, float]]] = defaultdict(list)
    for line, number in found.items():
        if number:
            groups[line.file, line.name or line.line].append((line, number))
    values = []
    for own in groups.values():
        own.sort(key=lambda item: (-item[1], item[0].line))
        values.append(LiveValue(tuple(line for line, _ in own), sum(number for _, number in own)))
    return sorted(values, key=lambda value: (-value.registers, value.lines[0].line))
