"""Decodes what a replay needs from NVIDIA machine code: opcodes, control bits, branches, PTX lines.

An instruction of compute capability 7.0 to 12.x has 16 bytes (Z. Jia et al., "Dissecting the NVIDIA Volta GPU
architecture via microbenchmarking", 2018, section 2; https://github.com/cloudcores/CuAssembler):

    bits 0-11 opcode, of which 9-11 choose the form of the operands;  bits 12-15 predicate
    bits 105-108 cycles until the next instruction issues   109 yield
    bits 110-112 scoreboard set until the result is written, 7: none
    bits 113-115 scoreboard set until the operands are read, 7: none
    bits 116-121 scoreboards to wait for

A wait for groups has the number that may stay in flight: DEPBAR (asynchronous copies) in bits 38-43,
WARPGROUP.DEPBAR (matrix instructions) in bits 72-79. SYNCS with bit 72 waits for a memory barrier.

A branch contains the signed distance from the next instruction in words of 4 bytes. Before compute capability
9.0, bits 34-81 hold it; from 9.0 on, bits 16-23 hold its lowest 8 bits and bits 34-81 the rest. Read off the
labels that nvdisasm prints for compute capability 7.5 to 12.0 (tests/estimating/test_machine_code.py).

The line table .nv_debug_line_sass (DWARF 2) names the PTX line of each instruction. Reading the bytes takes a
millisecond; nvdisasm takes a quarter of a second for the same kernel.

How often each machine instruction runs: SASS loops get their iterations from the PTX.

    PTX loop, 64 iterations: ld, ld, fma, fma     SASS loop: LDG x 8, FFMA x 8 -> unrolled 4 x, 16 passes

The line table of the cubin names the PTX line of each instruction, and the interpreter of the PTX says how
often that line runs. If a loop of SASS has n copies of a line that runs c times, it runs c / n times; if
several loops have copies (an unrolled loop and its remainder), the one with most copies runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.events.event_order import LoopStep
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.targets.elf import ElfSection, line_rows, sections

Integers = NDArray[np.int64]
SIZE = 16
NO_SCOREBOARD = 7
_WIDE_BRANCHES = 90  # the first compute capability, times ten, whose branches have 56 bits
# The code of a kernel with 260,000 instructions; large ones have a tenth.
_MOST_BYTES = 4 << 20
_BRA, _DEPBAR, _WARPGROUP, _SYNCS = 0x147, 0x11A, 0x1C5, 0x1A7
# Opcodes without the bits of the operand form, from `nvdisasm -hex` of kernels for sm_90.
OPCODES = {
    0x03B: "LDSM", 0x03C: "HMMA", 0x03F: "DMMA", 0x044: "STSM", 0x108: "MUFU", 0x105: "F2I", 0x106: "I2F",
    0x104: "F2F", 0x110: "F2F", 0x112: "I2F", 0x119: "S2R", 0x11A: "DEPBAR", 0x11D: "BAR", 0x141: "BSYNC",
    0x145: "BSSY",
    0x147: "BRA", 0x14D: "EXIT", 0x181: "LDG", 0x182: "LDC", 0x183: "LDL", 0x184: "LDS", 0x186: "STG",
    0x187: "STL", 0x188: "STS", 0x189: "SHFL", 0x1AE: "LDGSTS", 0x1AF: "LDGDEPBAR", 0x1C3: "S2UR",
    0x1C5: "WARPGROUP", 0x1F0: "HGMMA", 0x118: "NOP", 0x0CA: "R2UR", 0x028: "DMUL", 0x029: "DADD",
    0x02B: "DFMA", 0x037: "IMMA", 0x07A: "QMMA", 0x1F1: "IGMMA", 0x1F3: "QGMMA", 0x1B4: "UTMALDG",
    0x1B5: "UTMASTG", 0x1A7: "SYNCS", 0x1B1: "SYNCS", 0x1B2: "SYNCS", 0x18E: "RED", 0x1A6: "RED",
    0x1A8: "ATOMG", 0x1A9: "ATOMG", 0x18A: "ATOM", 0x18C: "ATOMS", 0x18D: "ATOMS", 0x192: "MEMBAR",
    0x1C6: "FENCE",
}  # fmt: skip
# What an instruction does that partitions have in common with the TTGIR.
_STEPS = {"SYNCS": "wait", "UTMALDG": "copy"}
# The units of an AMD compute unit, under numbers that no opcode of NVIDIA has (see `amd_machine_code`).
AMD_UNITS = dict(
    enumerate(
        (
            "VECTOR", "SCALAR", "TRANSCENDENTAL", "MATRIX", "VLOAD", "VSTORE", "VATOMIC", "SCRATCHLOAD",
            "SCRATCHSTORE", "SCALARLOAD", "LDSACCESS", "LDSSHUFFLE", "BARRIER", "END", "VECTORWAIT",
            "LDSWAIT", "PRODUCTWAIT",
        ),
        start=0x1000,
    )
)  # fmt: skip
_GROUP_PRODUCTS = [code for code, name in OPCODES.items() if name.endswith("GMMA")]


@frozen
class MachineInstructions:
    """The instructions of a kernel as columns.

    `opcode` is without the operand form, `stall` in cycles, `sets` and `reads` are scoreboards (7: none),
    `waits` a mask of them. `groups` is how many groups a wait leaves in flight, -1 for others. `target` is
    the index of the instruction that a branch leads to, -1 for others. `predicated` says whether there is a
    guard. `ptx_line` is the index (from 0) of the PTX line, -1: unknown.
    """

    opcode: Integers
    stall: Integers
    sets: Integers
    reads: Integers
    waits: Integers
    groups: Integers
    target: Integers
    predicated: NDArray[np.bool_]
    ptx_line: Integers

    def __len__(self) -> int:
        return len(self.opcode)


def machine_instructions(cubin: bytes, kernel: str, arch: int) -> MachineInstructions | None:
    """Decode the instructions of `kernel` in a cubin.

    `arch` is the compute capability times ten, such as 90. Returns None if the cubin is damaged, does not
    contain the kernel, or has more instructions than kernels have.
    """
    try:
        by_name = {section.name: section for section in sections(cubin)}
    except ValueError:
        return None
    code = by_name.get(f".text.{kernel}")
    if code is None or not SIZE <= len(code.data) <= _MOST_BYTES:
        return None
    words = np.frombuffer(bytes(code.data[: len(code.data) // SIZE * SIZE]), "<u8").reshape(-1, 2)
    low, high = words[:, 0], words[:, 1]
    control = (high >> np.uint64(41)).astype(np.int64)
    opcode = (low & np.uint64(0x1FF)).astype(np.int64)
    return MachineInstructions(
        opcode,
        control & 15,
        control >> 5 & 7,
        control >> 8 & 7,
        control >> 11 & 63,
        _groups(opcode, low, high),
        _targets(opcode, low, high, wide=arch >= _WIDE_BRANCHES),
        (low >> np.uint64(12) & np.uint64(15)).astype(np.int64) != 7,
        _ptx_lines(by_name.get(".nv_debug_line_sass"), len(words)),
    )


def _groups(opcode: Integers, low: NDArray[np.uint64], high: NDArray[np.uint64]) -> Integers:
    copies = (low >> np.uint64(38) & np.uint64(63)).astype(np.int64)
    products = (high >> np.uint64(8) & np.uint64(255)).astype(np.int64)
    waits = (low >> np.uint64(47) & np.uint64(1)).astype(np.int64) == 1
    in_flight = np.where((opcode == _DEPBAR) & waits, copies, -1)
    in_flight = np.where((opcode == _WARPGROUP) & waits, products, in_flight)
    return np.where((opcode == _SYNCS) & (products & 1 == 1), 0, in_flight)


def _targets(opcode: Integers, low: NDArray[np.uint64], high: NDArray[np.uint64], *, wide: bool) -> Integers:
    """Return the index of the instruction that each branch leads to, -1 for other instructions."""
    target = np.full(len(opcode), -1, np.int64)
    for branch in np.flatnonzero(opcode == _BRA):
        a, b = int(low[branch]), int(high[branch])
        words, bits = (b & 0x3FFFF) << 30 | a >> 34, 48
        if wide:
            words, bits = words << 8 | a >> 16 & 0xFF, 56
        words -= (words >> bits - 1) << bits
        index = int(branch) + 1 + words * 4 // SIZE
        target[branch] = index if 0 <= index < len(opcode) else -1
    return target


def _ptx_lines(section: ElfSection | None, count: int) -> Integers:
    """Return the PTX line of each instruction."""
    lines = np.full(count, -1, np.int64)
    rows = line_rows(section)
    if rows:
        for (start, line), (end, _) in pairwise([*rows, (count * SIZE, 0)]):
            lines[start // SIZE : max(start, end) // SIZE] = line - 1
    return lines


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


def with_products(code: MachineInstructions, ptx: Sequence[str]) -> MachineInstructions:
    """Return the machine code with the PTX lines of its warp-group matrix instructions.

    ptxas gives those the line of what precedes them, the computation of a descriptor for instance.
    """
    products = np.array([number for number, line in enumerate(ptx) if "wgmma.mma_async" in line], np.int64)
    instructions = np.flatnonzero(np.isin(code.opcode, _GROUP_PRODUCTS) & (code.ptx_line >= 0))
    if not len(products) or not len(instructions):
        return code
    following = np.minimum(np.searchsorted(products, code.ptx_line[instructions]), len(products) - 1)
    lines = code.ptx_line.copy()
    lines[instructions] = products[following]
    return replace(code, ptx_line=lines)


@dataclass
class MachineLoop:
    """A loop: the instructions from `start` to `end`, which is its last branch.

    `parent` is the index of the loop around it, -1: none. `passes` is how often a warp runs its body,
    `unrolled` how many iterations of the PTX one pass does.
    """

    start: int
    end: int
    parent: int
    passes: float = 1.0
    unrolled: int = 1
    children: list[int] = field(default_factory=list)


@frozen
class MachineRuns:
    """The loops in the order of their start, outer ones first, and how often a warp runs each instruction."""

    loops: Sequence[MachineLoop]
    innermost: NDArray[np.int64]
    times: Floats


def machine_runs(code: MachineInstructions, line_times: Floats) -> MachineRuns:
    """Count how often a warp runs each instruction.

    `line_times` is how often it runs each line of the PTX.
    """
    loops, innermost = loops_of(code)
    has_line = (code.ptx_line >= 0) & (code.ptx_line < len(line_times))
    own_times = np.where(has_line, line_times[np.where(has_line, code.ptx_line, 0)], 1.0)
    _count_passes(code, loops, innermost, own_times)
    passes = np.array([loop.passes for loop in loops] + [1.0])
    return MachineRuns(
        loops, innermost, np.minimum(passes[innermost], np.where(own_times < 1, own_times, np.inf))
    )


def loops_of(code: MachineInstructions) -> tuple[list[MachineLoop], NDArray[np.int64]]:
    """Find the loops, and the index of the innermost one around each instruction (-1: none)."""
    loops = _loops(code)
    return loops, _innermost(loops, len(code))


def _loops(code: MachineInstructions) -> list[MachineLoop]:
    ends: dict[int, int] = {}
    for branch in np.flatnonzero(code.target >= 0).tolist():
        target = int(code.target[branch])
        if target < branch:  # a branch to itself ends the kernel
            ends[target] = max(ends.get(target, 0), branch)
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
        for line_and_opcode, count in copies[number].items():
            most[line_and_opcode] = max(most.get(line_and_opcode, 0), count)
    times = dict(zip(lines, own.tolist(), strict=True))
    for number, own_loop in enumerate(loops):
        own_loop.passes, own_loop.unrolled = _passes(copies[number], most, times)


def _passes(
    copies: Mapping[_Made, int], most: Mapping[_Made, int], times: Mapping[int, float]
) -> tuple[float, int]:
    """Return the passes of a loop and by how much it is unrolled, from its surest instructions."""
    for surest in (_ANCHORS, _OTHERS, None):
        candidates = []
        for (line, opcode), number in copies.items():
            if surest is not None and opcode not in surest:
                continue
            remainder = number < most[line, opcode]
            candidates.append(
                (
                    (times[line] % most[line, opcode]) / number if remainder else times[line] / number,
                    number,
                )
            )
        if candidates:
            candidates.sort()
            return candidates[len(candidates) * 3 // 4]
    return 1.0, 1


def partition_loops(
    code: MachineInstructions, runs: MachineRuns, partitions: Sequence[tuple[int, Sequence[LoopStep]]]
) -> Iterator[tuple[MachineLoop, list[int]]]:
    """Yield the loop of each partition, and the instructions that do its steps, in the same order.

    `partitions` are the warps of each, and what it does in a pass. Raises UserError if there is none.
    """
    steps: list[dict[int, str]] = [{} for _ in (*runs.loops, None)]
    before = ""
    for at, loop in enumerate(runs.innermost.tolist()):
        name = OPCODES.get(int(code.opcode[at]), "")
        kind = _STEPS.get(name, "product" if name.endswith("GMMA") else "")
        if kind == "wait" and code.groups[at] < 0:
            kind = "arrive"
        # A product is several instructions.
        if kind and (kind, before) != ("product", "product"):
            steps[loop][at] = kind
        before = kind or before
    for _, wanted in partitions:
        kinds = [step.kind for step in wanted]
        number = next((n for n, found in enumerate(steps) if kinds == [*found.values()]), -1)
        if number < 0:
            raise UserError("no estimate: the machine code has no loop of a partition")
        yield runs.loops[number], [*steps[number]]
        steps[number] = {}
