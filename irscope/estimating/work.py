"""The work of a launch, or of an iteration of a loop, as numbers: what each resource of the GPU has to do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import exp, log2, prod

import numpy as np

from irscope.estimating.amd_machine_code import (
    amd_code,
    amd_instructions,
    amd_replay_input,
    matrix_work,
)
from irscope.estimating.constants import DeviceRates, shipped_fit
from irscope.estimating.counting.counts import AccessCount, LaunchCounts, count_launch
from irscope.estimating.counting.memory_requests import SECTOR
from irscope.estimating.counting.memory_traffic import TensorTraffic
from irscope.estimating.counting.steady_loops import prepared_program
from irscope.estimating.latency import PASSES, GroupReplay, Replay, ReplayInput, partitions_pace
from irscope.estimating.machine_code import (
    OPCODES,
    Floats,
    MachineInstructions,
    MachineRuns,
    loops_of,
    machine_instructions,
    machine_runs,
    with_products,
)
from irscope.facts.artifacts import VariantArtifacts
from irscope.interpreting.events.event_order import LoopStep
from irscope.model import Launch, UserError
from irscope.model.process import cycles_not_collected
from irscope.model.records import frozen
from irscope.targets import CUDA, HIP, in_words_of

# Distances in bytes, as powers of two, after which a program may access the same bytes again.
AGAIN = range(10, 34)
# Distances in bytes of all programs that run at once, as powers of two.
FAR = range(20, 36)
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
# mma.sync reaches 62 % of the rate of wgmma on Hopper (W. Luo et al., 2024, table 7).
_SYNCHRONOUS = 1.6
# FP16 multiply-adds per multiprocessor and cycle at which matrix instructions are counted: those of Hopper.
COUNTED_TENSOR = 2048
_OPERAND_BYTES = 32  # a matrix instruction multiplies 32 bytes of each row of A, in all types
# Memory latencies (cycles) at which a launch is replayed; between them, latency is interpolated.
REPLAYED = (300.0, 700.0, 1200.0)
# Bytes per cycle that L2 delivers to one multiprocessor if all ask (5,120 for the whole H100).
_L2_WIDTH = 40.0

_FMA = frozenset([0x020, 0x021, 0x023, 0x024, 0x025, 0x027, 0x030, 0x031, 0x032, 0x035, 0x02A])
_MEMORY = ("LD", "ST", "RED", "ATOM", "SHFL")


@frozen
class Work:
    """The work of one launch.

    Per program unless the name says otherwise; cycles are those of one multiprocessor for one program.
    `numbers` is everything that the model reads, by name.
    """

    numbers: Mapping[str, float]
    counts: LaunchCounts


def work_of(artifacts: VariantArtifacts, launch: Launch, device: DeviceRates) -> Work:
    """Compute the work of a launch on a device. Raises UserError as `works_of`."""
    return works_of(artifacts, launch, [device])[0]


@cycles_not_collected()
def works_of(artifacts: VariantArtifacts, launch: Launch, devices: Sequence[DeviceRates]) -> list[Work]:
    """Compute the work of a launch on each of `devices`, which are of the variant's target, by one count.

    Raises UserError if the variant lacks a stage (PTX and cubin; AMD: LLVM IR and AMDGCN) or has no
    occupancy, or the grid is empty.
    """
    variant, resident = artifacts.variant, artifacts.occupancy
    if resident is not None and not resident.blocks:
        what = in_words_of(variant.target, "no block fits on a multiprocessor")
        raise UserError(f"#{variant.id}: {what}")
    if prod(launch.grid) < 1:
        raise UserError(f"#{variant.id}: the launch has an empty grid")
    amd = variant.target.backend == HIP.name
    counts, numbers = _amd_work(artifacts, launch, devices[0]) if amd else _cuda_work(artifacts, launch)
    blocks = resident.blocks if resident else 0
    return [Work(_launch_numbers(counts, blocks, device) | numbers, counts) for device in devices]


def _cuda_work(artifacts: VariantArtifacts, launch: Launch) -> tuple[LaunchCounts, dict[str, float]]:
    """Count a launch by its PTX, and return what all devices of the target have in common."""
    variant, resident = artifacts.variant, artifacts.occupancy
    ptx, binary = artifacts.assembly, artifacts.binary
    if resident is None or ptx is None or binary is None or variant.target.backend != CUDA.name:
        raise UserError(f"#{variant.id}: an estimate needs the PTX and the cubin of a compiled variant")
    text = ptx.split("\n")
    code = _machine_code(artifacts, binary, text)
    if code is None:
        raise UserError(f"#{variant.id}: the cubin has no machine code of {variant.kernel.name}")
    counts = count_launch(variant, launch, ptx)
    runs = machine_runs(code, _line_times(counts, ptx, len(text)))
    numbers = {
        # L1 has the rest of the 256 KiB that it shares with shared memory from compute capability 8.0 on.
        "l1 bytes": max(16.0, 256 - (artifacts.count("shared") or 0) * resident.blocks / 1024) * 1024,
    }
    numbers |= _instructions(code, runs, counts.warps) | _matrix(counts, text)
    return counts, numbers | _latency(code, runs, counts, text)


def _machine_code(
    artifacts: VariantArtifacts, binary: bytes, ptx: Sequence[str]
) -> MachineInstructions | None:
    variant = artifacts.variant
    name = str(variant.metadata.get("name", variant.kernel.name))
    code = machine_instructions(binary, name, int(variant.target.arch))
    return None if code is None else with_products(code, ptx)


def _launch_numbers(counts: LaunchCounts, resident: int, device: DeviceRates) -> dict[str, float]:
    """Return what follows from the counts of a launch alone."""
    numbers = {
        "programs": float(counts.programs),
        "ended programs": counts.ended,
        "warps": float(counts.warps),
        "resident": float(resident),
        "longest": counts.longest,
    }
    return numbers | _memory(counts) | _traffic(counts, resident, device.multiprocessors, device.dies)


def _amd_work(
    artifacts: VariantArtifacts, launch: Launch, device: DeviceRates
) -> tuple[LaunchCounts, dict[str, float]]:
    """Count a launch by its LLVM IR; compute units of a target have the same rates and the same L1."""
    variant, assembly, llvm = artifacts.variant, artifacts.assembly, artifacts.text("llir")
    if artifacts.occupancy is None or assembly is None or llvm is None:
        raise UserError(f"#{variant.id}: an estimate needs the LLVM IR and the AMDGCN of a compiled variant")
    counts = count_launch(variant, launch, llvm)
    if not counts.blocks:
        raise UserError(f"#{variant.id}: no estimate: {', '.join(counts.unknown) or 'nothing was counted'}")
    program = prepared_program(llvm, variant.target).program
    made = amd_code(assembly, llvm, program, counts)
    if made is None:
        raise UserError(f"#{variant.id}: the AMDGCN has no instructions")
    arch = variant.target.arch
    replay = Replay(made.code, made.runs, amd_replay_input(made, counts, program, arch, device.tensor))
    products = sum(count * matrix_work(name, arch) for name, count in counts.matrix().items())
    numbers = amd_instructions(made, counts, assembly)
    numbers |= {"wgmma": 0.0, "wgmma operands": 0.0, "mma": products / COUNTED_TENSOR}
    numbers |= {"l1 bytes": float(device.l1_kib * 1024)}
    numbers |= {f"latency {memory:.0f}": replay.cycles(memory, memory + 100) for memory in REPLAYED}
    return counts, numbers


def _line_times(counts: LaunchCounts, ptx: str, lines: int) -> Floats:
    """Count how often a warp runs each line of the PTX."""
    times = np.ones(lines)
    if not counts.blocks:
        return times
    program = prepared_program(ptx).program
    operations = program.document.operations
    for block, executed in zip(program.tree.graph.blocks, counts.blocks, strict=True):
        for index in range(block.start, block.end):
            # Work that one warp does for all counts as done by each: the others wait for it.
            times[operations[index].line] = executed / max(1, counts.warps) if executed > 1.5 else executed
    return times


def _instructions(code: MachineInstructions, runs: MachineRuns, warps: int) -> dict[str, float]:
    """Count the warp instructions of the machine code per program, by unit."""
    times = runs.times * warps

    def total(codes: Collection[int]) -> float:
        return float(times[np.isin(code.opcode, list(codes))].sum())

    def named(*names: str) -> float:
        return total([code_number for code_number, name in OPCODES.items() if name in names])

    memory = named(*(name for name in OPCODES.values() if name.startswith(_MEMORY)))
    fma, special = total(_FMA), named("MUFU", "F2I", "I2F", "F2F")
    return {
        "instructions": float(times.sum()),
        "fma": fma,
        "special": special,
        "double": named("DFMA", "DADD", "DMUL"),
        "memory instructions": memory,
        "alu": max(0.0, float(times.sum()) - fma - special - memory),
        "local loads": named("LDL"),
        "local stores": named("STL"),
        "shuffles": named("SHFL"),
        "barriers": named("BAR") / max(1, warps),
        "size": float(len(code)),
    }


def _matrix(counts: LaunchCounts, ptx: Sequence[str]) -> dict[str, float]:
    """Return the cycles of the tensor cores at 2,048 FP16 multiply-adds per cycle.

    Twice as many with half the bits.
    """
    group = sync = fed = 0.0
    for kind, count in counts.kinds.items():
        if kind.kind != "matrix":
            continue
        if "wgmma" in kind.name:
            group += count / 4 * product_cycles(kind.name)
            fed += count / 4 * operand_cycles(kind.name)
        else:
            sync += count * product_cycles(kind.name)
    return {"wgmma": group, "wgmma operands": fed, "mma": sync}


def product_cycles(name: str) -> float:
    """Return the cycles of a matrix instruction: M x n x 32 bytes.

    That is 16 FP16 multiply-adds for each element of the result (all types take as long).
    """
    shape = _SHAPE.search(name)
    return int(shape[1]) * int(shape[2]) * 16 / COUNTED_TENSOR if shape else 0.0


def operand_cycles(name: str) -> float:
    """Return the cycles to read A and B of a warp-group instruction from shared memory.

    Shared memory delivers 128 bytes per cycle.
    """
    shape = _SHAPE.search(name)
    return (int(shape[1]) + int(shape[2])) * _OPERAND_BYTES / 128 if shape else 0.0


def _memory(counts: LaunchCounts) -> dict[str, float]:
    by_name: defaultdict[str, float] = defaultdict(float)
    for access in counts.accesses:
        if access.space == "shared":
            by_name["shared wavefronts"] += access.wavefronts
            by_name[f"shared {access.name} wavefronts"] += access.wavefronts
        else:
            by_name[f"{access.name} sectors"] += access.sectors
            by_name[f"{access.name} lines"] += access.lines
            by_name[f"{access.name} requests"] += access.warps
            by_name[f"{access.name} threads"] += access.threads
            if access.name == "atomic":
                by_name["atomic passes"] += atomic_passes(access)
                by_name["ordered atomics"] += access.warps if "acq_rel" in access.opcode else 0.0
    for copy in counts.copies:
        by_name["tensor stores" if copy.stores else "tensor loads"] += copy.bytes / 32
    names = ("load", "store", "atomic", "copy")
    numbers = {
        f"{name} {what}": 0.0 for name in names for what in ("sectors", "lines", "requests", "threads")
    }
    more_names = ("shared wavefronts", "tensor loads", "tensor stores", "atomic passes", "ordered atomics")
    numbers |= dict.fromkeys(more_names, 0.0)
    numbers |= {f"shared {name} wavefronts": 0.0 for name in names}
    numbers |= by_name
    numbers["rounds"] = _rounds(counts)
    return numbers


def atomic_passes(access: AccessCount) -> float:
    """Return the passes of the atomic units of L2 for an access, per program.

    A pass does all lanes in one sector. Measured on an H100 (`tools/calibration/tune/atomics.py`):
    FP64 takes 1.5 times as long as types of up to 32 bits and pairs of 16, and a half that is not
    one of a pair takes 0.8 passes per lane.
    """
    kind = access.opcode.split(".")
    if "f64" in kind:
        return access.sectors * 1.5
    unpacked = kind[-1] in ("f16", "bf16") and not {"v2", "v4", "v8"} & set(kind)
    return access.threads * 0.8 if unpacked else access.sectors


def _rounds(counts: LaunchCounts) -> float:
    """Count how often a program loads: once without a loop around the loads, else its iterations."""
    loaded = once = 0.0
    for access in counts.accesses:
        if access.space == "global" and access.name in ("load", "copy") and access.warps:
            loaded += access.sectors
            once += access.sectors / max(1.0, access.warps / counts.warps)
    for copy in counts.copies:
        if not copy.stores and copy.copies:
            loaded += copy.bytes / SECTOR
            once += copy.block_bytes / SECTOR
    return max(1.0, loaded / once) if once else 1.0


_TRAFFIC = (
    "unique bytes", "stored bytes", "wave bytes", "wave footprint", "touched bytes", "atomic bytes",
    "die bytes",
)  # fmt: skip


def _traffic(counts: LaunchCounts, resident: float, multiprocessors: int, dies: int) -> dict[str, float]:
    """Return the bytes of the launch by where they come from, with all programs of a wave at once.

    `again B` are bytes that a program accesses again after 2**B other bytes. `far B` are bytes
    that programs access again after all of a wave have accessed 2**B different bytes; what they
    share is fetched once. `die bytes` are read by the L2 of each of `dies`, among which programs go round.
    `atomic bytes` are the different bytes to which a wave adds.
    """
    programs = float(counts.programs)
    wave = min(programs, resident * multiprocessors)
    by_name = dict.fromkeys(_TRAFFIC, 0.0)
    by_name |= {f"again {bits}": 0.0 for bits in AGAIN} | {f"far {bits}": 0.0 for bits in FAR}
    alone = sum(tensor.bytes for tensor in counts.traffic) * wave
    apart = sum(tensor.unique_bytes(wave) for tensor in counts.traffic) / alone if alone else 1.0
    for tensor in counts.traffic:
        different = tensor.unique_bytes(programs)
        together = tensor.unique_bytes(wave)
        different_share = together / (tensor.bytes * wave) if tensor.bytes else 1.0
        by_name["wave footprint"] += together
        by_name["die bytes"] += tensor.unique_bytes(max(1.0, wave / dies)) * min(dies, wave) * programs / wave
        if tensor.direction == "read" and tensor.several and tensor.tensor_bytes:
            by_name["unique bytes"] += different
            by_name["wave bytes"] += different
            by_name["touched bytes"] += tensor.touched * programs
            # Random places are accessed again after as much as they are spread over.
            bits = min(max(round(log2(tensor.window_bytes(wave))), FAR[0]), FAR[-1])
            by_name[f"far {bits}"] += max(0.0, tensor.different_bytes(programs) - different)
        elif tensor.direction == "read":
            by_name["unique bytes"] += different
            by_name["wave bytes"] += max(different, together * programs / wave)
            by_name["touched bytes"] += tensor.touched * programs
            for distance, size in tensor.again.items():
                bits = min(max(distance.bit_length() - 1, AGAIN[0]), AGAIN[-1])
                by_name[f"again {bits}"] += size * programs
                bits = min(max(round(log2(distance * wave * apart)), FAR[0]), FAR[-1])
                by_name[f"far {bits}"] += size * programs * different_share
        else:
            by_name["stored bytes"] += different * (2 if tensor.direction == "atomic" else 1)
            if tensor.direction == "atomic":
                by_name["atomic bytes"] += _places_of_atomics(tensor, wave)
    return by_name


def _places_of_atomics(tensor: TensorTraffic, wave: float) -> float:
    """Return the different bytes to which a wave adds; if data decides which, places by chance."""
    if tensor.scattered and tensor.tensor_bytes:
        window = tensor.window_bytes(wave)
        return window * (1 - exp(-tensor.bytes * wave / window))
    return max(tensor.bytes, tensor.unique_bytes(wave))


def _port_cycles(
    code: MachineInstructions, counts: LaunchCounts
) -> tuple[dict[int, float], dict[int, float]]:
    """Return how long all warps' loads occupy the way from L2, and their accesses shared memory.

    What several warps load at once comes once.
    """
    requested = counts.sectors("load", "copy") * 32 + sum(
        counted.bytes for counted in counts.copies if not counted.stores
    )
    touched = sum(counted.touched for counted in counts.traffic if counted.direction == "read")
    once = min(1.0, touched / requested) if touched and requested else 1.0
    loads: dict[int, float] = {}
    shared: dict[int, float] = {}
    for access in counts.accesses:
        if not access.warps:
            continue
        if access.space == "shared":
            shared[access.line] = access.wavefronts / access.warps * counts.warps
        elif access.name in ("load", "copy"):
            loads[access.line] = once * access.sectors * 32 / access.warps * counts.warps / _L2_WIDTH
    for copy in counts.copies:
        if not copy.stores:
            loads[copy.line] = copy.block_bytes / _L2_WIDTH
    lines = code.ptx_line.tolist()
    return (
        {index: loads[line] for index, line in enumerate(lines) if line in loads},
        {index: shared[line] for index, line in enumerate(lines) if line in shared},
    )


def _latency(
    code: MachineInstructions, runs: MachineRuns, counts: LaunchCounts, ptx: Sequence[str]
) -> dict[str, float]:
    """Return the latency of one warp in cycles for several latencies of memory."""
    cycles = _product_cycles(code, ptx, counts.warps, COUNTED_TENSOR, _SYNCHRONOUS)
    commits = sum("wgmma.commit_group" in line for line in ptx)
    products = sum("wgmma.mma_async" in line for line in ptx)
    transfers, wavefronts = _port_cycles(code, counts)
    replay_input = ReplayInput(
        cycles,
        counts.warps,
        transfers,
        wavefronts,
        products_per_group=max(1, products // max(1, commits)),
    )
    replay = Replay(code, runs, replay_input)
    return {f"latency {memory:.0f}": replay.cycles(memory, memory + 100) for memory in REPLAYED}


_LOADS = ("LDG", "LDGSTS", "UTMALDG")
_READS = ("LDS", "LDSM")


@frozen
class IterationWork:
    """What all warps of a program do in an iteration, in cycles of the unit that does it.

    `products` occupy the tensor cores, `transfers` the way from L2, `reads` shared memory. `partitions` are
    their warps and what each does in a pass of its loop.
    """

    products: float
    transfers: float
    reads: float
    warps: int
    partitions: Sequence[tuple[int, Sequence[LoopStep]]]


def steady_cycles(
    artifacts: VariantArtifacts, work: IterationWork, memory: float, device: DeviceRates
) -> float | None:
    """Return the cycles per iteration if loads are answered after `memory` cycles.

    Returns None if there is no machine code that can be replayed, or no loop with products in it.
    """
    variant = artifacts.variant
    if variant.target.backend != CUDA.name or not artifacts.assembly or not artifacts.binary:
        return None
    ptx = artifacts.assembly.split("\n")
    code = _machine_code(artifacts, artifacts.binary, ptx)
    if code is None:
        return None
    slower = shipped_fit(device.fit).values["mma"] if device.warp_groups else 1.0
    together = len(work.partitions) > 1
    products = _product_cycles(code, ptx, 4 if together else work.warps, device.tensor, slower)
    try:
        if together:
            return partitions_pace(code, work.partitions, products, memory)
        return _replayed(code, work, memory, products)
    except UserError:
        return None


def _product_cycles(
    code: MachineInstructions, ptx: Sequence[str], warps: int, rate: float, slower: float
) -> dict[int, float]:
    """Return how long each matrix instruction of all warps occupies the tensor cores, by its index.

    Those do `rate` multiply-adds per cycle; products of single warps take so many times longer.
    """
    cycles: dict[int, float] = {}
    for index, opcode in enumerate(code.opcode.tolist()):
        name, line = OPCODES.get(opcode, ""), int(code.ptx_line[index])
        if not name.endswith("MMA") or not 0 <= line < len(ptx):
            continue
        alone = product_cycles(ptx[line]) * COUNTED_TENSOR / rate
        if "GMMA" in name:
            cycles[index] = max(alone, operand_cycles(ptx[line])) * warps / 4
        else:
            cycles[index] = alone * slower * warps
    return cycles


def _replayed(
    code: MachineInstructions, work: IterationWork, memory: float, products: dict[int, float]
) -> float | None:
    """Return the cycles per iteration of the loop that has most products; None without one."""
    runs = MachineRuns(*loops_of(code), np.ones(len(code)))
    by_loop = [0.0] * (len(runs.loops) + 1)
    for index, cycles in products.items():
        by_loop[runs.innermost[index]] += cycles
    by_loop.pop()  # those outside of loops
    if not work.products or not any(by_loop):
        return None
    main = int(np.argmax(by_loop))
    iterations = by_loop[main] / work.products
    by_name: dict[str, list[int]] = defaultdict(list)
    for index in np.flatnonzero(runs.innermost == main).tolist():
        name = OPCODES.get(int(code.opcode[index]), "")
        if name not in ("SYNCS", "WARPGROUP") or code.groups[index] >= 0:
            by_name[name].append(index)
    copies = [index for name in _LOADS for index in by_name[name]]
    reads = [index for name in _READS for index in by_name[name]]
    multiplying = sum(runs.innermost[index] == main for index in products)
    count = max(1, work.warps // 4)
    transfer = work.transfers * iterations / max(1, len(copies))
    given = ReplayInput(
        {index: cycles / count for index, cycles in products.items()},
        min(4, work.warps),
        {index: transfer if index in by_name["UTMALDG"] else transfer / count for index in copies},
        dict.fromkeys(reads, work.reads * iterations / max(1, len(reads)) / count),
        max(1, len(by_name["UTMALDG"]) // max(1, len(by_name["SYNCS"]))),
        max(1, multiplying // max(1, len(by_name["WARPGROUP"]))),
    )
    replay = GroupReplay(code, runs, given)
    return replay.pace(runs.loops[main], PASSES, memory, count) / iterations
