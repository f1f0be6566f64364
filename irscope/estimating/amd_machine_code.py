"""The instructions of an AMDGCN text as units of a compute unit, and how often a wave runs each.

    buffer_load_dwordx4 v[0:3], v8, s[0:3], 0 offen      a load that vmcnt counts
    s_waitcnt vmcnt(1)                                   waits until one load is in flight

The counts of a launch are those of the LLVM IR: a loop of the machine code runs as often as the loop of the
LLVM IR that it was made of. Matrix instructions take the time that the peak rates of the data sheets leave
them; no AMD GPU was measured.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from irscope.estimating.counting.counts import LaunchCounts
from irscope.estimating.counting.memory_requests import SECTOR
from irscope.estimating.counting.ptx_program import PtxProgram
from irscope.estimating.latency import ReplayInput
from irscope.estimating.machine_code import (
    AMD_UNITS,
    NO_SCOREBOARD,
    MachineInstructions,
    MachineRuns,
    loops_of,
)
from irscope.languages.amdgcn import LANGUAGE, parse, register_use
from irscope.languages.control_flow import NONE, LoopTree, find_loops
from irscope.languages.document import Document, Location, inlining_chain
from irscope.languages.llvm import parse as parse_llvm
from irscope.model.records import frozen

_CODES = {name: code for code, name in AMD_UNITS.items()}
_COUNTERS = re.compile(r"\b(vmcnt|lgkmcnt)\((\d+)\)")
_NUMBER = re.compile(r"\b(0x[0-9a-f]+|\d+)$")
_DEPENDENCY = re.compile(r"VALU_DEP_(\d)")
# The unit of an instruction by the start of its opcode; all others are computed by the vector unit.
_UNITS = [
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"scratch_load", "SCRATCHLOAD"),
        (r"scratch_store", "SCRATCHSTORE"),
        (r"(?:t?buffer|global|flat)_load", "VLOAD"),
        (r"(?:t?buffer|global|flat)_store", "VSTORE"),
        (r"(?:buffer|global|flat)_atomic", "VATOMIC"),
        (r"s_(?:buffer_)?load", "SCALARLOAD"),
        (r"ds_(?:bpermute|permute|swizzle)", "LDSSHUFFLE"),
        (r"ds_", "LDSACCESS"),
        (r"v_(?:mfma|wmma|smfmac|swmmac)", "MATRIX"),
        (r"v_(?:s_)?(?:exp|log|rcp|rsq|sqrt|sin|cos|tanh)_", "TRANSCENDENTAL"),
        (r"s_barrier(?:_wait)?$", "BARRIER"),
        (r"s_endpgm", "END"),
        (r"s_", "SCALAR"),
    )
]
_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)(?:_(\w+))?")
# Bits of an element of A by the end of an opcode; f8f6f4 is taken to be FP8.
_BITS = {
    "f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "iu8": 8, "fp8": 8, "bf8": 8,
    "f8f6f4": 8, "iu4": 4,
}  # fmt: skip
# Multiply-adds per cycle against those of FP16, by bits (data sheets): FP32 an eighth on CDNA 2 and 3, a
# sixteenth on CDNA 4; FP64 as FP32, on CDNA 4 half of it.
_SLOWER = {"gfx90a": {32: 4, 64: 4}, "gfx942": {32: 8, 64: 8}, "gfx950": {32: 16, 64: 32}}
_VALU_DELAY = 4  # cycles from one instruction to the next that needs its result, RDNA


@frozen
class AmdCode:
    """The machine code of a kernel in units, with the loops of the LLVM IR that it was made of.

    `runs` says how often a wave runs each, `loops` the loop of the LLVM IR of each (NONE: none).
    `opcodes` are the names, `wide` says that waves have 64 threads.
    """

    code: MachineInstructions
    runs: MachineRuns
    opcodes: Sequence[str]
    loops: Sequence[int]
    wide: bool


@dataclass
class _Columns:
    """The columns of machine instructions while they are made."""

    unit: list[str] = field(default_factory=list)
    stall: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    operation: list[int] = field(default_factory=list)
    opcode: list[str] = field(default_factory=list)

    def add(self, operation: int, opcode: str, unit: str, stall: int, groups: int = -1) -> None:
        """Add an instruction."""
        self.unit.append(unit)
        self.stall.append(stall)
        self.groups.append(groups)
        self.target.append(-1)
        self.operation.append(operation)
        self.opcode.append(opcode)


def matrix_work(opcode: str, arch: str) -> float:
    """Return the FP16 multiply-adds that take as long as a matrix instruction; 0 if it is none.

    v_mfma_f32_32x32x8_f16: 8,192. On CDNA 4, only instructions that read 16 bytes of A per thread are
    taken to reach the peak rate; those of CDNA 3 to take as many cycles as there.
    """
    shape = _SHAPE.search(opcode)
    if shape is None or not opcode.startswith(("v_mfma", "v_wmma", "v_smfmac", "v_swmmac")):
        return 0.0
    m, n, k = (int(size) for size in shape.groups()[:3])
    kind = (shape[4] or "").split("_")[0] or opcode.split("_")[2]
    bits = _BITS.get(kind, 16)
    products = float(m * n * k)
    if bits >= 32:
        return products * _SLOWER.get(arch, {}).get(bits, 1)
    if arch == "gfx950" and m * k * bits // (64 * 8) < 16:
        products *= 2
    # RDNA 3 computes bytes as fast as halves; the others twice as fast.
    return products if arch.startswith(("gfx110", "gfx115")) else products * bits / 16


def amd_code(text: str, llvm: str, program: PtxProgram, counts: LaunchCounts) -> AmdCode | None:
    """Read an AMDGCN text; `program` is the lowered LLVM IR `llvm`, whose launch has `counts`.

    Returns None if it has no instructions.
    """
    document = parse(text)
    if not document.operations or LANGUAGE.branches is None:
        return None
    tree = find_loops(document)
    times, loops = _Times(document, tree, llvm, program, counts).by_operation()
    wide = program.warp == 64
    slots = max(1, -(-counts.warps // 4))
    columns = _Columns()
    first: dict[int, int] = {}
    waits = _waits_for_products(document)
    for index, operation in enumerate(document.operations):
        first[index] = len(columns.unit)
        if index in waits:
            columns.add(index, "", "PRODUCTWAIT", 0, 0)
        _add_instruction(columns, index, operation.opcode, document.lines[operation.line], wide, slots)
    _set_targets(columns, document, tree, first)
    code = _instructions(columns, document)
    executed = np.array([times[index] for index in columns.operation])
    machine_loops, innermost = loops_of(code)
    for number, loop in enumerate(machine_loops):
        loop.passes = float(executed[innermost == number].max(initial=0.0))
    runs = MachineRuns(machine_loops, innermost, executed)
    return AmdCode(code, runs, columns.opcode, [loops[index] for index in columns.operation], wide)


def _instructions(columns: _Columns, document: Document) -> MachineInstructions:
    count = len(columns.unit)
    none = np.full(count, NO_SCOREBOARD)
    return MachineInstructions(
        np.array([_CODES[unit] for unit in columns.unit]),
        np.array(columns.stall),
        none,
        none,
        np.zeros(count, np.int64),
        np.array(columns.groups),
        np.array(columns.target),
        np.zeros(count, bool),
        np.array([document.operations[index].line for index in columns.operation]),
    )


def _add_instruction(columns: _Columns, index: int, opcode: str, line: str, wide: bool, slots: int) -> None:
    """Add one instruction: its unit, and the cycles until the wave issues the next one.

    A wave of 64 takes four cycles of a SIMD of CDNA, and those of one SIMD take turns; RDNA issues
    a wave of 32 in one cycle.
    """
    cycles = 4 * slots if wide else slots
    code = line.partition(";")[0].strip()
    if opcode.startswith("s_wait"):
        for unit, groups in _waits(opcode, code):
            columns.add(index, opcode, unit, 4 if wide else 1, groups)
        if not columns.unit or columns.operation[-1] != index:
            columns.add(index, opcode, "SCALAR", 1)
        return
    unit = next((unit for pattern, unit in _UNITS if pattern.match(opcode)), "VECTOR")
    if "Folded" in line:
        unit = {"VLOAD": "SCRATCHLOAD", "VSTORE": "SCRATCHSTORE"}.get(unit, unit)
    stall = cycles
    if opcode == "s_nop":
        number = _NUMBER.search(code)
        stall = 1 + (int(number[1], 0) if number else 0)
    elif opcode == "s_delay_alu":
        depth = _DEPENDENCY.search(code)
        stall = max(1, _VALU_DELAY + 1 - int(depth[1])) if depth else 1
    elif unit in ("SCALAR", "BARRIER"):
        stall = 4 if wide else 1
    columns.add(index, opcode, unit, stall)


def _waits(opcode: str, code: str) -> list[tuple[str, int]]:
    """Return the counters that an instruction waits for, and how many may be in flight.

    s_waitcnt vmcnt(1) lgkmcnt(0); from gfx12 on, s_wait_loadcnt 0x1 and others.
    """
    if opcode == "s_waitcnt":
        return [
            ("VECTORWAIT" if name == "vmcnt" else "LDSWAIT", int(number))
            for name, number in _COUNTERS.findall(code)
        ]
    match = _NUMBER.search(code)
    number = int(match[1], 0) if match else 0
    if opcode == "s_wait_loadcnt_dscnt":
        return [("VECTORWAIT", number >> 8), ("LDSWAIT", number & 255)]
    if opcode in ("s_wait_loadcnt", "s_wait_asynccnt", "s_wait_samplecnt"):
        return [("VECTORWAIT", number)]
    return [("LDSWAIT", number)] if opcode in ("s_wait_dscnt", "s_wait_kmcnt") else []


def _waits_for_products(document: Document) -> frozenset[int]:
    """Find the instructions that are the first to read the result of matrix instructions.

    A matrix instruction that adds to the result of another one does not wait for its end.
    """
    accesses = register_use(document).accesses
    pending, waits = 0, set()
    for index, (operation, access) in enumerate(zip(document.operations, accesses, strict=True)):
        if operation.opcode.startswith(("v_mfma", "v_wmma", "v_smfmac", "v_swmmac")):
            pending |= access.writes
        elif access.reads & pending:
            waits.add(index)
            pending = 0
    return frozenset(waits)


def _set_targets(columns: _Columns, document: Document, tree: LoopTree, first: Mapping[int, int]) -> None:
    """Set the instruction that each branch back leads to."""
    ends = {tree.graph.blocks[block].end - 1: block for block in range(len(tree.graph.blocks))}
    last = {operation: at for at, operation in enumerate(columns.operation)}
    for operation, block in ends.items():
        if not document.operations[operation].opcode.startswith(("s_cbranch", "s_branch")):
            continue
        back = [
            tree.graph.blocks[successor].start
            for successor in tree.graph.blocks[block].successors
            if tree.graph.blocks[successor].start <= operation
        ]
        if back:
            columns.target[last[operation]] = first[min(back)]


def _key(location: Location | None) -> tuple[tuple[int, int], ...]:
    """Return the lines and columns of a location and of the calls through which it was inlined."""
    return tuple((one.line, one.column) for one in inlining_chain(location))


class _Times:
    """How often a wave runs each operation of the AMDGCN text."""

    def __init__(
        self, document: Document, tree: LoopTree, llvm: str, program: PtxProgram, counts: LaunchCounts
    ) -> None:
        self._document, self._tree = document, tree
        self._made_of, self._counts = program, counts
        by_line = {operation.line: operation.location for operation in parse_llvm(llvm).operations}
        # By loop of the LLVM IR and location: how often a wave runs it.
        self._executed: dict[tuple[int, object], float] = {}
        self._locations: defaultdict[int, Counter[object]] = defaultdict(Counter)
        self._passes: defaultdict[int, float] = defaultdict(float, {NONE: 1.0})
        warps = max(1, counts.warps)
        blocks = program.tree.graph.blocks
        for number, executed in enumerate(counts.blocks):
            loop = program.tree.innermost[number]
            self._passes[loop] = max(self._passes[loop], executed / warps)
            for index in range(blocks[number].start, blocks[number].end):
                key = _key(by_line.get(program.line(index)))
                self._locations[loop][key] += 1
                if key:
                    known = self._executed.get((loop, key), 0.0)
                    self._executed[loop, key] = max(known, executed / warps)

    def by_operation(self) -> tuple[list[float], list[int]]:
        """Return how often a wave runs each operation, and the loop of the LLVM IR that it is in."""
        loops = self._matched()
        times, loop_of = [], []
        innermost = [self._tree.loop_of(index) for index in range(len(self._document.operations))]
        for index, operation in enumerate(self._document.operations):
            loop = loops.get(innermost[index], NONE)
            key = _key(operation.location)
            times.append(self._executed.get((loop, key), self._passes[loop]))
            loop_of.append(loop)
        return times, loop_of

    def _matched(self) -> dict[int, int]:
        """Map the loops of the AMDGCN text to those of the LLVM IR.

        They are in the same order, if there are as many; otherwise those that share most locations.
        """
        machine, source = self._tree.loops, self._made_of.tree.loops
        depths = [_depths(tree) for tree in (self._tree, self._made_of.tree)]
        if sorted(depths[0]) == sorted(depths[1]):
            order = [_in_order(tree) for tree in (self._tree, self._made_of.tree)]
            return dict(zip(*order, strict=True))
        found = {}
        for number in range(len(machine)):
            own: Counter[object] = Counter()
            for block in self._tree.bodies[number]:
                start, end = self._tree.graph.blocks[block].start, self._tree.graph.blocks[block].end
                own.update(_key(self._document.operations[index].location) for index in range(start, end))
            shared = {other: (own & self._locations[other]).total() for other in range(len(source))}
            best = max(shared, key=shared.__getitem__, default=NONE)
            found[number] = best if shared.get(best) else NONE
        return found


def _depths(tree: LoopTree) -> list[int]:
    depths: list[int] = []
    for loop in tree.loops:
        depths.append(depths[loop.parent] + 1 if loop.parent != NONE else 0)
    return depths


def _in_order(tree: LoopTree) -> list[int]:
    """Return the loops by depth, then by the order of their text."""
    depths = _depths(tree)
    starts = [tree.graph.blocks[loop.header].start for loop in tree.loops]
    return sorted(range(len(tree.loops)), key=lambda number: (depths[number], starts[number]))


_CODE_BYTES = re.compile(r"^; codeLenInByte = (\d{1,9})", re.MULTILINE)
_L2_WIDTH = 64.0  # bytes per cycle from L2 to a compute unit (white papers of CDNA 2 and 3)


def amd_instructions(made: AmdCode, counts: LaunchCounts, assembly: str) -> dict[str, float]:
    """Count the instructions of waves per program, by unit.

    A wave of 64 takes four cycles of one of the four SIMDs of a compute unit; a work-group processor of
    RDNA starts one of 32 on each SIMD per cycle.
    """
    units = np.array([AMD_UNITS[int(code)] for code in made.code.opcode])
    times = made.runs.times * counts.warps

    def total(*names: str) -> float:
        return float(times[np.isin(units, names)].sum())

    doubles = np.array(["_f64" in opcode for opcode in made.opcodes]) & (units == "VECTOR")
    size = _CODE_BYTES.search(assembly)
    vector = total("VECTOR")
    return {
        "instructions": float(times.sum()) - total("PRODUCTWAIT"),
        "fma": 0.0,
        "special": total("TRANSCENDENTAL"),
        "double": 0.0 if made.wide else float(times[doubles].sum()),
        "memory instructions": total("VLOAD", "VSTORE", "VATOMIC", "LDSACCESS", "LDSSHUFFLE", "SCALARLOAD"),
        "alu": vector,
        "vector cycles": vector * (1.0 if made.wide else 0.25),
        "local loads": total("SCRATCHLOAD"),
        "local stores": total("SCRATCHSTORE"),
        "shuffles": total("LDSSHUFFLE"),
        "barriers": total("BARRIER") / max(1, counts.warps),
        "size": int(size[1]) / 16 if size else len(made.opcodes) / 2,
    }


def amd_replay_input(
    made: AmdCode, counts: LaunchCounts, program: PtxProgram, arch: str, tensor: int
) -> ReplayInput:
    """Return the inputs of a replay; `tensor` are FP16 multiply-adds per multiprocessor and cycle.

    What a loop loads from L2, and its passes of LDS, are spread evenly over its instructions.
    """
    slots = max(1, -(-counts.warps // 4))
    products = {
        at: matrix_work(opcode, arch) / (tensor / 4) * slots
        for at, opcode in enumerate(made.opcodes)
        if opcode.startswith(("v_mfma", "v_wmma", "v_smfmac", "v_swmmac"))
    }
    requested = counts.sectors("load", "copy") * SECTOR
    touched = sum(one.touched for one in counts.traffic if one.direction == "read")
    once = min(1.0, touched / requested) if touched and requested else 1.0
    loop_of = {
        program.line(index): program.tree.loop_of(index) for index in range(len(program.document.operations))
    }
    loaded: defaultdict[int, float] = defaultdict(float)
    shared: defaultdict[int, float] = defaultdict(float)
    for access in counts.accesses:
        loop = loop_of.get(access.line, NONE)
        if access.space == "shared":
            shared[loop] += access.wavefronts
        elif access.name in ("load", "copy"):
            loaded[loop] += once * access.sectors * SECTOR / _L2_WIDTH
    return ReplayInput(
        products, counts.warps, _spread(made, loaded, "VLOAD"), _spread(made, shared, "LDSACCESS")
    )


def _spread(made: AmdCode, work: Mapping[int, float], unit: str) -> dict[int, float]:
    """Spread the work of each loop over its instructions of a unit."""
    code = _CODES[unit]
    at = [index for index, opcode in enumerate(made.code.opcode.tolist()) if opcode == code]
    times: defaultdict[int, float] = defaultdict(float)
    for index in at:
        times[made.loops[index]] += float(made.runs.times[index])
    return {
        index: work[made.loops[index]] / times[made.loops[index]]
        for index in at
        if made.loops[index] in work and times[made.loops[index]]
    }
