"""How much a difference matters to the program: the only scale that ranks findings."""

from __future__ import annotations

import enum
import math


class Severity(enum.IntEnum):
    """The effect of a difference on the program, as the weight of the smallest one.

    Each is twice the next, and a weight stays below twice its severity: no number of bytes ranks a finding
    above one that is more severe.
    """

    FAILURE = 2048  # one side does not compile or cannot be launched
    IDENTICAL = 1024  # both sides are the same program: nothing to benchmark
    SEMANTICS = 512  # the kernel computes or orders something else: a mask, a memory order, a loop's bound
    MATRIX_PATH = 256  # other instructions compute: tensor cores lost, wgmma to mma.sync, exp approximated
    LOOP_SPILLS = 128  # registers are spilled in each iteration of a loop
    SPILLS = 64  # registers are spilled
    LOOP = 32  # how a loop runs: unrolled, pipelined, specialized by warp
    MEMORY = 16  # how memory is accessed: width, atomics, kind of copy
    OCCUPANCY = 8  # how many warps are resident
    RESOURCES = 4  # registers, shared memory, barriers, below any effect on occupancy
    LAYOUT = 2  # what the compiler chose on the way: passes, layouts, conversions
    COUNT = 1  # more or fewer of the same instructions

    def weight(self, effect: float = 0.0) -> float:
        """The weight of a finding; `effect` is its number of doublings or halvings (0 or more)."""
        return self * (1 + effect / (1 + effect))


def severity_of(weight: float) -> Severity:
    """The severity that a weight is of."""
    return next((severity for severity in Severity if severity <= weight), Severity.COUNT)


def effect(a: float, b: float) -> float:
    """How far a quantity moved, in doublings or halvings; 0 counts as a half."""
    return abs(math.log2(max(b, 0.5) / max(a, 0.5)))
