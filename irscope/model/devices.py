"""What one multiprocessor of each target holds: the published limits that occupancy is computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irscope.model.target import Target

_KIB = 1024
# Both vendors: CUDA Programming Guide, table 30; AMD's ISA documents, "work-group".
MAX_THREADS_PER_BLOCK = 1024
# PTX ISA, "Tensor Memory": a multiprocessor of cc 10.x has 512 columns of 128 lanes.
TENSOR_MEMORY_COLUMNS = 512


@dataclass(frozen=True, slots=True)
class Device:
    """The limits of one multiprocessor (NVIDIA: SM; CDNA: compute unit; RDNA: work-group processor).

    `warps` and `blocks` are the most that may be resident. A multiprocessor has `partitions`, each with
    `lane_registers` 32-bit registers a lane, handed to a warp in multiples of `register_unit` a lane.
    `shared` is the bytes of shared memory (LDS), `block_shared` the most that one block may have after
    opting in; a block's share is its own plus `reserved_shared`, rounded up to `shared_unit`.
    `barriers` is the pool of barrier resources (None: no limit), `scalar_registers` those of one
    partition (None: no limit).
    """

    warps: int
    blocks: int
    shared: int
    block_shared: int
    shared_unit: int
    reserved_shared: int = 0
    partitions: int = 4
    lane_registers: int = 512
    register_unit: int = 8
    barriers: int | None = None
    scalar_registers: int | None = None


def _volta(blocks: int, warps: int, shared_kib: int) -> Device:
    return Device(warps, blocks, shared_kib * _KIB, shared_kib * _KIB, shared_unit=256)


def _ampere(blocks: int, warps: int, shared_kib: int, barriers: int | None = None) -> Device:
    """From cc 8.0 on the driver keeps 1 KiB of each block's shared memory for itself."""
    return Device(
        warps,
        blocks,
        shared=shared_kib * _KIB,
        block_shared=(shared_kib - 1) * _KIB,
        shared_unit=128,
        reserved_shared=_KIB,
        barriers=barriers,
    )


# CUDA Programming Guide 13, section 5.1.3, tables 30 (resident blocks and warps) and 31 (registers: 64 K
# an SM on all; shared memory an SM and a block); cc 7.0 and 7.2 from the CUDA C++ Programming Guide 12,
# "Technical Specifications per Compute Capability". Allocation units, sub-partitions (4, so 16,384
# registers for 32 lanes each, allocated 256 a warp) and barriers (limit from cc 9.0 on) from NVIDIA's
# cuda_occupancy.h of CUDA 13. cc 10.1 is what CUDA 12 called 11.0.
_CUDA = {
    "70": _volta(32, 64, 96),
    "72": _volta(32, 64, 96),
    "75": _volta(16, 32, 64),
    "80": _ampere(32, 64, 164),
    "86": _ampere(16, 48, 100),
    "87": _ampere(16, 48, 164),
    "89": _ampere(24, 48, 100),
    "90": _ampere(32, 64, 228, barriers=64),
    "100": _ampere(32, 64, 228, barriers=64),
    "101": _ampere(24, 48, 228, barriers=24),
    "103": _ampere(32, 64, 228, barriers=64),
    "110": _ampere(24, 48, 228, barriers=24),
    "120": _ampere(24, 48, 100, barriers=24),
    "121": _ampere(24, 48, 100, barriers=24),
}

# CDNA: 4 SIMDs a compute unit with 512 vector registers a lane, architectural and accumulation together,
# in units of 8; 8 waves and 800 scalar registers a SIMD; 16 barriers (LLVM, AMDGPUBaseInfo.cpp, IsaInfo,
# features of gfx90a). LDS: 64 KiB in units of 512 bytes, on gfx950 160 KiB in units of 1,280 (ROCm
# documentation, "AMD GPU specifications"; LLVM, getLdsDwGranularity).
_CDNA = Device(
    warps=32, blocks=32, shared=64 * _KIB, block_shared=64 * _KIB, shared_unit=512, barriers=16,
    scalar_registers=800,
)  # fmt: skip
_CDNA4 = replace(_CDNA, shared=160 * _KIB, block_shared=160 * _KIB, shared_unit=1280)

# RDNA 3 and 4: a work-group processor of 4 SIMDs, 16 waves each, 1,536 vector registers a lane in units
# of 24 for waves of 32; 32 barriers; 128 KiB of LDS of which a work-group can address 64 KiB (the same
# places in LLVM, features of gfx1100 and gfx1200; LDS in units of 1,024 bytes from GFX10.3 on).
_RDNA = Device(
    warps=64, blocks=64, shared=128 * _KIB, block_shared=64 * _KIB, shared_unit=1024,
    lane_registers=1536, register_unit=24, barriers=32,
)  # fmt: skip
# In CU mode a work-group stays on one of the two compute units of its processor.
_RDNA_CU = replace(_RDNA, warps=32, blocks=32, shared=64 * _KIB, partitions=2, barriers=16)

_HIP = {
    "gfx90a": _CDNA,
    "gfx942": _CDNA,
    "gfx950": _CDNA4,
    "gfx1100": _RDNA,
    "gfx1101": _RDNA,
    "gfx1200": _RDNA,
    "gfx1201": _RDNA,
}


def device_of(target: Target, cu_mode: bool = False) -> Device | None:
    """The limits of `target`'s multiprocessor, None for one whose limits are not known here.

    `cu_mode` is RDNA's: the kernel was compiled to stay on one compute unit of a work-group processor.
    """
    device = (_CUDA if target.backend == "cuda" else _HIP).get(target.arch)
    return _RDNA_CU if device is _RDNA and cu_mode else device
