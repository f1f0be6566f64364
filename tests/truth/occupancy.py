"""Theoretical occupancy, from the tables of NVIDIA's programming guide and AMD's CDNA 3 guide."""

from __future__ import annotations

from tests.truth.recount import Side

# By compute capability: warps, blocks and bytes of shared memory per multiprocessor.
_NVIDIA = {
    "80": (64, 32, 164 << 10),
    "86": (48, 16, 100 << 10),
    "89": (48, 24, 100 << 10),
    "90": (64, 32, 228 << 10),
    "100": (64, 32, 228 << 10),
    "120": (48, 24, 100 << 10),
}
_RESERVED_SHARED = 1 << 10  # per block, from cc 8.0 on
# From cc 9.0 on, a multiprocessor has 64 named barriers for all of its blocks.
_BARRIERS = 64
_CDNA_WAVES, _CDNA_REGISTERS = 8, 512  # per SIMD
_CDNA_LDS = {"hip:gfx950": (160 << 10, 1280)}  # bytes per compute unit, and the unit of allocation


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def resident(side: Side) -> tuple[int, float]:
    """The blocks that are resident at once, and their warps as a share of the maximum."""
    return _cdna(side) if not side.nvidia else _nvidia(side)


def _nvidia(side: Side) -> tuple[int, float]:
    most_warps, most_blocks, shared = _NVIDIA[side.target.partition(":")[2]]
    warps = side.threads // 32
    # Each of 4 schedulers has 16,384 registers, which warps get in units of 256.
    a_warp = _up(side.resources["registers"] * 32, 256)
    by_registers = 16384 // a_warp * 4 // warps
    by_shared = shared // _up(side.shared + _RESERVED_SHARED, 128)
    blocks = min(most_blocks, most_warps // warps, by_registers, by_shared)
    if side.target in ("cuda:90", "cuda:100") and side.resources.get("barriers"):
        blocks = min(blocks, _BARRIERS // side.resources["barriers"])
    return blocks, blocks * warps / most_warps


def _cdna(side: Side) -> tuple[int, float]:
    """4 SIMDs per compute unit; registers of a wave in units of 8, scalar ones in units of 16."""
    waves = side.threads // 64
    by_registers = _CDNA_REGISTERS // _up(max(side.resources["registers"], 1), 8)
    blocks = min(_CDNA_WAVES, by_registers) * 4 // waves
    most, unit = _CDNA_LDS.get(side.target, (64 << 10, 512))
    if side.shared:
        blocks = min(blocks, most // _up(side.shared, unit))
    return blocks, blocks * waves / (_CDNA_WAVES * 4)
