"""How often each machine instruction runs: SASS loops get their iterations from the PTX.

    PTX loop, 64 iterations: ld, ld, fma, fma     SASS loop: LDG x 8, FFMA x 8 -> unrolled 4 x, 16 passes

The line table of the cubin names the PTX line of each instruction, and the interpreter of the PTX says how
often that line runs. If a loop of SASS has n copies of a line that runs c times, it runs c / n times; if
several loops have copies (an unrolled loop and its remainder), the one with most copies runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.sass_encoding import OPCODES, MachineInstructions

Floats = NDArray[np.float64]
# Instructions of which ptxas makes exactly one per PTX instruction.
_ANCHORS = frozenset(
    code
    for code, name in OPCODES.items()
    if name in ("LDG", "STG", "LDGSTS", "LDSM", "STSM", "HMMA", "HGMMA", "QGMMA", "IGMMA", "UTMALDG", "BAR")
)
_OTHERS = frozenset(
    code for code, name in OPCODES.items() if name in ("LDS", "STS", "MUFU", "SHFL", "LDGDEPBAR", "RED")
)


@dataclass
class MachineLoop:
    """A loop: the instructions from `start` to `end`, which is its last branch.

    `parent` is the index of the loop around it, -1: none. `passes` is how often a warp runs its body,
    `unrolled` how many iterations of the PTX one pass does.
    """

    start: int
    end: int
    parent: int = -1
    passes: float = 1.0
    unrolled: int = 1
    children: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class MachineRuns:
    """The loops in the order of their start, outer ones first, and how often a warp runs each instruction."""

    loops: Sequence[MachineLoop]
    innermost: NDArray[np.int64]
    times: Floats


def machine_runs(code: MachineInstructions, line_times: Floats) -> MachineRuns:
    """How often a warp runs each instruction; `line_times` is how often it runs each line of the PTX."""
    loops = _loops(code)
    innermost = _innermost(loops, len(code))
    known = (code.ptx_line >= 0) & (code.ptx_line < len(line_times))
    own = np.where(known, line_times[np.where(known, code.ptx_line, 0)], 1.0)
    _count_passes(code, loops, innermost, own)
    passes = np.array([loop.passes for loop in loops] + [1.0])
    return MachineRuns(loops, innermost, np.minimum(passes[innermost], np.where(own < 1, own, np.inf)))


def _loops(code: MachineInstructions) -> list[MachineLoop]:
    ends: dict[int, int] = {}
    for at in np.flatnonzero(code.target >= 0).tolist():
        target = int(code.target[at])
        if target < at:  # a branch to itself ends the kernel
            ends[target] = max(ends.get(target, 0), at)
    loops: list[MachineLoop] = []
    around: list[int] = []  # the loops around `start`, the innermost last
    for start, end in sorted(ends.items()):
        while around and loops[around[-1]].end < start:
            around.pop()
        if around and loops[around[-1]].end < end:
            continue  # back from a slow path that is after the end of the kernel
        parent = around[-1] if around else -1
        if around:
            loops[parent].children.append(len(loops))
        around.append(len(loops))
        loops.append(MachineLoop(start, end, parent))
    return loops


def _innermost(loops: Sequence[MachineLoop], count: int) -> NDArray[np.int64]:
    """Return the index of the innermost loop around each of `count` instructions, -1 for none.

    Fills each stretch between two edges once: filling loop by loop would be quadratic in nested ones.
    """
    # Outer loops come first, so the outermost of those that end together says what follows them.
    edges = {loop.end + 1: loop.parent for loop in reversed(loops)}
    edges |= {loop.start: number for number, loop in enumerate(loops)}
    innermost = np.full(count, -1, np.int64)
    for (start, number), (end, _) in pairwise([*sorted(edges.items()), (count, -1)]):
        innermost[start:end] = number
    return innermost


# A line of the PTX, and an opcode that it became.
_Made = tuple[int, int]


def _count_passes(
    code: MachineInstructions, loops: list[MachineLoop], innermost: NDArray[np.int64], own: Floats
) -> None:
    lines = code.ptx_line.tolist()
    copies: dict[int, Counter[_Made]] = {number: Counter() for number in range(-1, len(loops))}
    for loop, line, opcode in zip(innermost.tolist(), lines, code.opcode.tolist(), strict=True):
        if line >= 0:
            copies[loop][line, opcode] += 1
    most: dict[_Made, int] = {}
    for number in range(len(loops)):
        for made, count in copies[number].items():
            most[made] = max(most.get(made, 0), count)
    times = dict(zip(lines, own.tolist(), strict=True))
    for number, own_loop in enumerate(loops):
        own_loop.passes, own_loop.unrolled = _passes(copies[number], most, times)


def _passes(
    copies: Mapping[_Made, int], most: Mapping[_Made, int], times: Mapping[int, float]
) -> tuple[float, int]:
    """The passes of a loop and by how much it is unrolled, from its surest instructions."""
    for surest in (_ANCHORS, _OTHERS, None):
        found = []
        for (line, opcode), number in copies.items():
            if surest is not None and opcode not in surest:
                continue
            remainder = number < most[line, opcode]
            found.append(
                (
                    (times[line] % most[line, opcode]) / number if remainder else times[line] / number,
                    number,
                )
            )
        if found:
            found.sort()
            return found[len(found) * 3 // 4]
    return 1.0, 1
