"""The Python values that are spilled to local memory, and the lines that spill and reload them.

STL [R1+0x10], R24 (line 33)    -> R24 holds acc (line 31): acc is spilled at line 33
LDL R24, [R1+0x10] (line 35)    -> and reloaded at line 35
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from irscope.analysis.registers.definitions import bits
from irscope.analysis.registers.live_values import SourceOfRegisters
from irscope.analysis.registers.machine_code import MachineCode
from irscope.analysis.registers.python_names import SourceLine
from irscope.languages.control_flow import NONE
from irscope.languages.loops import LoopTree
from irscope.model.frozen_value import FrozenValue


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpilledValue(FrozenValue):
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
class _Group:
    slots: set[int] = field(default_factory=set)
    stores: Counter[SourceLine] = field(default_factory=Counter)
    loads: Counter[SourceLine] = field(default_factory=Counter)
    in_loop: Counter[bool] = field(default_factory=Counter)
    stage_lines: list[int] = field(default_factory=list)


def spilled_values(code: MachineCode, registers: SourceOfRegisters, loops: LoopTree) -> list[SpilledValue]:
    """The spilled values, those with the most accesses in loops first.

    A store counts for the value that it stores, a reload for the one that it most likely reads. Accesses to
    an unknown address have the unknown line.
    """
    lines = _lines_of_stores(code, registers)
    groups: dict[SourceLine, _Group] = defaultdict(_Group)
    for access in code.use.stack:
        at = access.operation
        stores = [at] if access.stores else code.reaching_stores.get(at, ())
        group = groups[_most_common(line for store in stores for line in lines[store])]
        group.slots.update(access.slots)
        (group.stores if access.stores else group.loads)[registers.line_of(at)] += 1
        group.in_loop[access.stores] += loops.loop_of(at) != NONE
        group.stage_lines.append(code.document.operations[at].line)
    found = [_value(line, group) for line, group in groups.items()]
    return sorted(found, key=lambda one: (-one.loop_loads - one.loop_stores, -one.words, one.value.line))


def _lines_of_stores(code: MachineCode, registers: SourceOfRegisters) -> dict[int, list[SourceLine]]:
    """The lines that computed what each store writes to the stack, by operation."""
    found = {}
    for access in code.use.stack:
        if access.stores:
            at, mask = access.operation, access.stored
            definitions = code.definitions.before(at, mask)
            found[at] = [registers.best(definitions[register], at) for register in bits(mask)]
    return found


def _most_common(lines: Iterable[SourceLine]) -> SourceLine:
    counts = Counter(lines)
    return counts.most_common(1)[0][0] if counts else SourceLine("", 0)


def _value(line: SourceLine, group: _Group) -> SpilledValue:
    return SpilledValue(
        line,
        len(group.slots),
        tuple(group.stores.most_common()),
        tuple(group.loads.most_common()),
        group.in_loop[True],
        group.in_loop[False],
        tuple(group.stage_lines),
    )
