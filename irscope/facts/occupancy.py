"""Theoretical occupancy: how many blocks of a kernel a multiprocessor holds at once, and what limits it.

Whether a variant spills registers, in the terms of its backend.

A stack does not prove a spill: it may hold an array of the kernel. AMD spills vector registers to scratch
memory, and scalar registers to lanes of vector registers, without any stack.
"""

from __future__ import annotations

from typing import NamedTuple

from irscope.facts.fact import Facts, number_of
from irscope.facts.registry import (
    BLOCKS_PER_SM,
    OCCUPANCY,
    REGISTERS,
    SCALAR_REGISTERS,
    SCALAR_SPILLS,
    SPILL_LOAD_BYTES,
    SPILL_STORE_BYTES,
    STACK,
    VECTOR_SPILLS,
)
from irscope.model import Variant
from irscope.model.records import frozen
from irscope.model.text import pluralize
from irscope.targets import MAX_THREADS_PER_BLOCK, Device, device_of, in_words_of

# PTX ISA, "Tensor Memory": a multiprocessor of cc 10.x has 512 columns of 128 lanes.
TENSOR_MEMORY_COLUMNS = 512


class BlockUse(NamedTuple):
    """The resources that one block (work-group) of a kernel uses.

    `registers` are 32-bit registers per thread (AMD: vector and accumulation registers), `shared` is bytes
    of shared memory, `barriers` are named barriers (AMD: one if a block has several waves),
    `scalar_registers` are per AMD wave.
    """

    warps: int
    registers: int
    shared: int
    barriers: int = 0
    scalar_registers: int = 0


@frozen
class Occupancy:
    """Resident `blocks` and `warps`, of `max_warps`; `limits` names the resources that allow no more."""

    blocks: int
    warps: int
    max_warps: int
    limits: tuple[str, ...]

    @property
    def fraction(self) -> float:
        """Return the resident warps as a fraction of the maximum."""
        return self.warps / self.max_warps


def occupancy(device: Device, use: BlockUse) -> Occupancy:
    """Count the blocks with this `use` that are resident on one multiprocessor of `device`.

    Follows NVIDIA's cuda_occupancy.h (cudaOccMaxActiveBlocksPerMultiprocessor with the largest
    shared memory carveout), and LLVM's AMDGPU subtargets with AMD's limits. Tensor memory does not
    count: blocks wait for it after they are resident.
    """
    room = {
        "warps": device.warps // use.warps,
        "blocks": device.blocks,
        "registers": _blocks_by_registers(device, use),
    }
    if use.shared or device.reserved_shared:
        room["shared memory"] = _blocks_by_shared(device, use.shared)
    if device.barriers is not None and use.barriers:
        room["barriers"] = device.barriers // use.barriers
    if device.scalar_registers is not None and use.scalar_registers:
        warps = device.scalar_registers // use.scalar_registers * device.partitions
        room["scalar registers"] = warps // use.warps
    blocks = min(room.values())
    limits = tuple(name for name, most in room.items() if most == blocks)
    return Occupancy(blocks, blocks * use.warps, device.warps, limits)


def _blocks_by_registers(device: Device, use: BlockUse) -> int:
    """Count the blocks that the registers allow.

    Each warp gets registers of one partition; a block starts only if all of its warps fit.
    """
    registers_a_warp = _round_up(max(use.registers, 1), device.register_unit)
    warps_a_partition = device.lane_registers // registers_a_warp
    if warps_a_partition * device.partitions < _round_up(use.warps, device.partitions):
        return 0
    return warps_a_partition * device.partitions // use.warps


def _blocks_by_shared(device: Device, shared: int) -> int:
    if shared > device.block_shared:
        return 0
    block_bytes = _round_up(shared + device.reserved_shared, device.shared_unit)
    return device.shared // block_bytes


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def launch_problem(variant: Variant) -> str | None:
    """Say why a compiled `variant` cannot be launched on its target; None if it can.

    Checks what Triton checks at launch: shared memory, threads per block, tensor memory.
    """
    device = device_of(variant.target)
    problem = resource_problem(
        count(variant, "shared"),
        threads_of(variant),
        count(variant, "tmem_size"),
        device.block_shared if device else None,
    )
    return None if problem is None else in_words_of(variant.target, problem)


def resource_problem(
    shared: int | None, threads: int | None, columns: int | None, most_shared: int | None
) -> str | None:
    """Say why a block with these resources cannot be launched; None if it can.

    `shared` is bytes of shared memory, of which a block may have `most_shared`, `columns` are of
    tensor memory. None is unknown, and no reason.
    """
    reasons = []
    if shared is not None and most_shared is not None and shared > most_shared:
        reasons.append(f"{shared:,} bytes of shared memory, limit {most_shared:,}")
    if threads is not None and threads > MAX_THREADS_PER_BLOCK:
        reasons.append(f"{threads:,} threads per block, limit {MAX_THREADS_PER_BLOCK:,}")
    if columns is not None and columns > TENSOR_MEMORY_COLUMNS:
        reasons.append(f"{columns:,} columns of tensor memory, limit {TENSOR_MEMORY_COLUMNS}")
    return "; ".join(reasons) or None


def threads_of(variant: Variant) -> int | None:
    """Return the threads per block, or None if num_warps is unknown."""
    warps = count(variant, "num_warps")
    return None if warps is None else warps * variant.target.warp_size


def count(variant: Variant, name: str) -> int | None:
    """Return a count in Triton's metadata, or None if it is missing or not a count."""
    value = variant.metadata.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None


REPORTED_SPILLS = (SPILL_STORE_BYTES, SPILL_LOAD_BYTES, VECTOR_SPILLS, SCALAR_SPILLS)
# Facts that spilling improves: fewer registers, and therefore more resident warps.
IMPROVED_BY_SPILLS = (REGISTERS, SCALAR_REGISTERS, OCCUPANCY, BLOCKS_PER_SM)


def reported_spills(facts: Facts) -> bool | None:
    """Return True if ptxas or the AMD backend reports spills, None if unknown (no log of ptxas)."""
    reported = [number for kind in REPORTED_SPILLS if (number := number_of(facts, kind)) is not None]
    return any(reported) if reported else None


def spills(facts: Facts) -> bool:
    """Return True if the variant spills; if that is unknown, whether it has a stack."""
    reported = reported_spills(facts)
    return bool(number_of(facts, STACK)) if reported is None else reported


def spills_only_scalars(facts: Facts) -> bool:
    """Return True if it spills only scalar registers, to lanes of vector registers, not to memory."""
    return spill_severity(facts)[:2] == (0, 0) and bool(number_of(facts, SCALAR_SPILLS))


def spill_severity(facts: Facts) -> tuple[float, float, float]:
    """Return a key that sorts variants by what they spill.

    It is bytes of stack, then vector registers, then scalar registers.
    """
    kinds = (STACK, VECTOR_SPILLS, SCALAR_SPILLS)
    a, b, c = (number_of(facts, kind) or 0.0 for kind in kinds)
    return a, b, c


def spilled_registers_text(facts: Facts) -> str:
    """Return AMD's spilled registers: "534 vector and 600 scalar registers"; "" if none or unknown."""
    vector, scalar = (int(number_of(facts, kind) or 0) for kind in (VECTOR_SPILLS, SCALAR_SPILLS))
    if vector and scalar:
        return f"{vector:,} vector and {pluralize(scalar, 'scalar register')}"
    if vector:
        return pluralize(vector, "vector register")
    return pluralize(scalar, "scalar register") if scalar else ""
