"""The work of one launch as numbers: what each resource of the GPU has to do, before any rate or fit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from irscope.estimating.counts import LaunchCounts, _prepare, count_launch
from irscope.estimating.machine_loops import Floats, MachineRuns, machine_runs
from irscope.estimating.replay import Replay, ReplayInput, wait_numbers
from irscope.estimating.sass_encoding import OPCODES, MachineInstructions, machine_instructions
from irscope.facts.artifacts import VariantArtifacts
from irscope.languages.document import Location
from irscope.model import Launch, UserError

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_TENSOR = re.compile(r"(?:tensordesc )?[a-z_]+?(\d+)\w*\[([\d, ]*)\]")
_OPERAND_BYTES = 32  # a matrix instruction multiplies 32 bytes of each row of A, in all types
# Memory latencies (cycles) at which a launch is replayed; between them, latency is interpolated.
REPLAYED = (200.0, 600.0, 1000.0)

_FMA = frozenset([0x020, 0x021, 0x023, 0x024, 0x025, 0x027, 0x030, 0x031, 0x032, 0x035, 0x02A])
_MEMORY = ("LD", "ST", "RED", "ATOM", "SHFL")
_XU = frozenset(code for code, name in OPCODES.items() if name in ("MUFU", "F2I", "I2F", "F2F"))
_DOUBLE = frozenset(code for code, name in OPCODES.items() if name in ("DFMA", "DADD", "DMUL"))


@dataclass(frozen=True)
class TensorUse:
    """What the launch does with one tensor: its size and the bytes that all programs load from it.

    `again` are the bytes that a program loads in a loop after it loaded as many in an earlier one.
    """

    name: str
    size: int
    loaded: float
    again: float
    stored: float


@dataclass(frozen=True)
class Work:
    """The work of one launch.

    Per program unless the name says otherwise; cycles are those of one multiprocessor for one program.
    `numbers` is everything that the model reads, by name.
    """

    numbers: Mapping[str, float]
    counts: LaunchCounts
    tensors: Sequence[TensorUse]
    lines: Mapping[str, tuple[int, ...]]


def work_of(artifacts: VariantArtifacts, launch: Launch) -> Work:
    """The work of a launch. Raises UserError if the variant has no PTX, no cubin or no occupancy."""
    variant, resident = artifacts.variant, artifacts.occupancy
    ptx, binary = artifacts.assembly, artifacts.binary
    if resident is None or ptx is None or binary is None or variant.target.backend != "cuda":
        raise UserError(f"#{variant.id}: an estimate needs the PTX and the cubin of a compiled variant")
    if not resident.blocks:
        raise UserError(f"#{variant.id}: no block fits on a multiprocessor")
    code = machine_instructions(binary, str(variant.metadata.get("name", variant.kernel.name)))
    if code is None:
        raise UserError(f"#{variant.id}: the cubin has no machine code of {variant.kernel.name}")
    counts = count_launch(variant, launch, ptx)
    text = ptx.split("\n")
    runs = machine_runs(code, _line_times(counts, ptx, len(text)))
    tensors = _tensors(counts, launch)
    numbers = {
        "programs": float(counts.programs),
        "warps": float(counts.warps),
        "resident": float(resident.blocks),
        "longest": counts.longest,
    }
    numbers |= _instructions(code, runs, counts.warps)
    numbers |= _matrix(counts, text)
    numbers |= _memory(counts, tensors)
    numbers |= _latency(code, runs, counts, text)
    return Work(numbers, counts, tensors, {})


def _line_times(counts: LaunchCounts, ptx: str, lines: int) -> Floats:
    """How often a warp runs each line of the PTX."""
    times = np.ones(lines)
    if not counts.blocks:
        return times
    program = _prepare(ptx).program
    operations = program.document.operations
    for block, executed in zip(program.tree.graph.blocks, counts.blocks, strict=True):
        for at in range(block.start, block.end):
            times[operations[at].line] = executed / max(1, counts.warps)
    return times


def _instructions(code: MachineInstructions, runs: MachineRuns, warps: int) -> dict[str, float]:
    """Warp instructions of the machine code per program, by unit."""
    times = runs.times * warps

    def total(codes: frozenset[int]) -> float:
        return float(times[np.isin(code.opcode, list(codes))].sum())

    def named(*names: str) -> float:
        return total(frozenset(at for at, name in OPCODES.items() if name in names))

    memory = named(
        *(name for name in OPCODES.values() if name.startswith(("LD", "ST", "RED", "ATOM", "SHFL")))
    )
    return {
        "instructions": float(times.sum()),
        "fma": total(_FMA),
        "special": total(_XU),
        "double": total(_DOUBLE),
        "memory instructions": memory,
        "alu": max(0.0, float(times.sum()) - total(_FMA) - total(_XU) - memory),
        "local loads": named("LDL"),
        "local stores": named("STL"),
        "shuffles": named("SHFL"),
        "barriers": named("BAR") / max(1, warps),
        "size": float(len(code)),
    }


def _matrix(counts: LaunchCounts, ptx: Sequence[str]) -> dict[str, float]:
    """Cycles of the tensor cores at 2,048 FP16 multiply-adds per cycle (twice that with half the bits)."""
    group = sync = fed = 0.0
    for kind, count in counts.kinds.items():
        if kind.kind != "matrix":
            continue
        if "wgmma" in kind.name:
            group += count / 4 * _cycles(kind.name)
            fed += count / 4 * _fed(kind.name)
        else:
            sync += count * _cycles(kind.name)
    return {"wgmma": group, "wgmma operands": fed, "mma": sync}


def _cycles(name: str) -> float:
    """M x n x 32 bytes: 16 FP16 multiply-adds for each element of the result (all types take as long)."""
    shape = _SHAPE.search(name)
    return int(shape[1]) * int(shape[2]) * 16 / 2048 if shape else 0.0


def _fed(name: str) -> float:
    """The cycles to read A and B of a warp-group instruction from shared memory at 128 bytes per cycle."""
    shape = _SHAPE.search(name)
    return (int(shape[1]) + int(shape[2])) * _OPERAND_BYTES / 128 if shape else 0.0


def _memory(counts: LaunchCounts, tensors: Sequence[TensorUse]) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for access in counts.accesses:
        if access.space == "shared":
            found["shared wavefronts"] += access.wavefronts
            found[f"shared {access.name} wavefronts"] += access.wavefronts
        else:
            found[f"{access.name} sectors"] += access.sectors
            found[f"{access.name} lines"] += access.lines
            found[f"{access.name} requests"] += access.warps
            found[f"{access.name} threads"] += access.threads
            if access.name == "atomic" and "acq_rel" in access.opcode:
                found["ordered atomics"] += access.warps
    for copy in counts.copies:
        found["tensor stores" if copy.stores else "tensor loads"] += copy.bytes / 32
    names = ("load", "store", "atomic", "copy")
    numbers = {
        f"{name} {what}": 0.0 for name in names for what in ("sectors", "lines", "requests", "threads")
    }
    numbers |= dict.fromkeys(("shared wavefronts", "tensor loads", "tensor stores", "ordered atomics"), 0.0)
    numbers |= {f"shared {name} wavefronts": 0.0 for name in names}
    numbers |= found
    numbers["unique bytes"] = sum(min(one.size or one.loaded, one.loaded) for one in tensors)
    numbers["bytes again"] = sum(one.again for one in tensors)
    numbers["stored bytes"] = sum(one.stored for one in tensors)
    numbers["tensor bytes"] = float(sum(one.size for one in tensors))
    return numbers


def _tensors(counts: LaunchCounts, launch: Launch) -> list[TensorUse]:
    sizes = {name: _size(text) for name, text in launch.arguments}
    passes: defaultdict[str, defaultdict[object, _Pass]] = defaultdict(lambda: defaultdict(_Pass))
    stored: defaultdict[str, float] = defaultdict(float)
    for access in counts.accesses:
        if access.space != "global":
            continue
        size = access.sectors * 32 * counts.programs
        if access.name in ("store", "atomic"):
            stored[access.tensor] += size
        else:
            own = passes[access.tensor][_place(access.location)]
            own.size += size
            own.first = min(own.first, access.line)
            own.last = max(own.last, access.line)
    for copy in counts.copies:
        if copy.stores:
            stored[copy.tensor] += copy.bytes * counts.programs
        else:
            passes[copy.tensor][_place(copy.location)].size += copy.bytes * counts.programs
    found = []
    ends = sorted(loop.header for loop in counts.loops)
    for name in {**passes, **stored}:
        size = sizes.get(name, 0)
        loaded = sum(one.size for one in passes[name].values())
        again = _again(list(passes[name].values()), size, ends)
        found.append(TensorUse(name, size, loaded, again, stored[name]))
    return found


@dataclass
class _Pass:
    """What one statement of Python loads from a tensor: the bytes, and its first and last line of PTX."""

    size: float = 0.0
    first: int = 1 << 60
    last: int = -1


def _place(location: Location | None) -> object:
    return None if location is None else (location.outermost.file, location.outermost.line)


def _again(passes: Sequence[_Pass], size: int, headers: Sequence[int]) -> float:
    """The bytes of the statements that load a whole tensor anew in another loop than the one before."""
    whole = sorted((one for one in passes if 0.8 * size <= one.size <= 1.3 * size), key=lambda one: one.last)
    if not size or len(whole) < 2:
        return 0.0
    found = 0.0
    for before, one in pairwise(whole):
        if any(before.last < header <= one.last for header in headers):
            found += one.size
    return found


def _size(text: str) -> int:
    """The bytes of a tensor argument; 0 of others."""
    match = _TENSOR.match(text)
    sizes = [int(size) for size in match[2].split(",") if size.strip()] if match else []
    return int(match[1]) // 8 * prod(sizes) if match else 0


def _latency(
    code: MachineInstructions, runs: MachineRuns, counts: LaunchCounts, ptx: Sequence[str]
) -> dict[str, float]:
    """The latency of one warp in cycles for several latencies of memory."""
    cycles: dict[int, float] = {}
    for at, opcode in enumerate(code.opcode.tolist()):
        name = OPCODES.get(opcode, "")
        line = int(code.ptx_line[at])
        if name.endswith("MMA") and 0 <= line < len(ptx):
            cycles[at] = _cycles(ptx[line]) * counts.warps / (4 if "GMMA" in name else 1)
    commits = sum("wgmma.commit_group" in line for line in ptx)
    products = sum("wgmma.mma_async" in line for line in ptx)
    given = ReplayInput(wait_numbers(code, ptx), cycles, 2, max(1, products // max(1, commits)))
    replay = Replay(code, runs, given)
    return {f"latency {memory:.0f}": replay.cycles(memory, memory + 100) for memory in REPLAYED}
