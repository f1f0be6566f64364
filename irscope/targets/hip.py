"""The HIP backend: AMDGCN, code objects, and AMD's devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irscope.model import Stage, Target, Variant
from irscope.targets.backend import GIB, KIB, MIB, Backend, Device, ReferenceDevice, Resources

if TYPE_CHECKING:
    from irscope.targets.instructions import InstructionSet

_NAME = "hip"

# The keys of code object V5 metadata, "amdhsa.kernels" (LLVM, User Guide for AMDGPU Backend). From gfx90a
# on .vgpr_count holds the accumulation registers too.
_AMDGPU_METADATA = r"(?m)^ +(?:- )?\.(\w+): +(\d+)$"

# CDNA: 4 SIMDs a compute unit with 512 vector registers a lane, architectural and accumulation together,
# in units of 8; 8 waves and 800 scalar registers a SIMD; 16 barriers (LLVM, AMDGPUBaseInfo.cpp, IsaInfo,
# features of gfx90a). LDS: 64 KiB in units of 512 bytes, on gfx950 160 KiB in units of 1,280 (ROCm
# documentation, "AMD GPU specifications"; LLVM, getLdsDwGranularity).
_CDNA = Device(
    warps=32, blocks=32, shared=64 * KIB, block_shared=64 * KIB, shared_unit=512, barriers=16,
    scalar_registers=800, thread_registers=512,
)  # fmt: skip
_CDNA4 = replace(_CDNA, shared=160 * KIB, block_shared=160 * KIB, shared_unit=1280)

# RDNA 3 and 4: a work-group processor of 4 SIMDs, 16 waves each, 1,536 vector registers a lane in units
# of 24 for waves of 32; 32 barriers; 128 KiB of LDS, but a work-group can address only 64 KiB (the same
# places in LLVM, features of gfx1100 and gfx1200; LDS in units of 1,024 bytes from GFX10.3 on).
_RDNA = Device(
    warps=64, blocks=64, shared=128 * KIB, block_shared=64 * KIB, shared_unit=1024,
    lane_registers=1536, register_unit=24, thread_registers=256, barriers=32,
)  # fmt: skip
# The same with the smaller register file of RDNA 1 and 2 (LLVM, targets without Feature1_5xVGPRs).
_RDNA_SMALL = replace(_RDNA, lane_registers=1024, register_unit=16)

# CDNA 5: compute units of 4 SIMDs with waves of 32 and no accumulation registers; 320 KiB of LDS in units of
# 2,048 bytes; 1,024 registers per thread (the same places in LLVM, features of gfx1250).
_CDNA5 = Device(
    warps=64, blocks=64, shared=320 * KIB, block_shared=320 * KIB, shared_unit=2048,
    lane_registers=1024, register_unit=16, thread_registers=1024, barriers=32,
)  # fmt: skip

_DEVICES = {
    "gfx90a": _CDNA,
    "gfx942": _CDNA,
    "gfx950": _CDNA4,
    "gfx1100": _RDNA,
    "gfx1101": _RDNA,
    "gfx1102": _RDNA_SMALL,
    "gfx1151": _RDNA,
    "gfx1200": _RDNA,
    "gfx1201": _RDNA,
    "gfx1250": _CDNA5,
}

# AMD's data sheets and architecture white papers. MI250X: one of its two dies, as the driver shows it.
# MI300X and MI355X: the L2 of one of their XCDs. Radeon 8060S: the most of the
# 128 GiB of the system that it can be assigned. MI455X: AMD's emulator (rocm-systems, gfx1250_mi455x.json).
_REFERENCE_DEVICES = {
    "gfx90a": ReferenceDevice("AMD Instinct MI250X", 110, 64 * GIB, 8 * MIB),
    "gfx942": ReferenceDevice("AMD Instinct MI300X", 304, 192 * GIB, 4 * MIB),
    "gfx950": ReferenceDevice("AMD Instinct MI355X", 256, 288 * GIB, 4 * MIB),
    "gfx1100": ReferenceDevice("AMD Radeon RX 7900 XTX", 48, 24 * GIB, 6 * MIB),
    "gfx1101": ReferenceDevice("AMD Radeon RX 7800 XT", 30, 16 * GIB, 4 * MIB),
    "gfx1102": ReferenceDevice("AMD Radeon RX 7600", 16, 8 * GIB, 2 * MIB),
    "gfx1151": ReferenceDevice("AMD Radeon 8060S", 20, 96 * GIB, 2 * MIB),
    "gfx1200": ReferenceDevice("AMD Radeon RX 9060 XT", 16, 16 * GIB, 4 * MIB),
    "gfx1201": ReferenceDevice("AMD Radeon RX 9070 XT", 32, 16 * GIB, 8 * MIB),
    "gfx1250": ReferenceDevice("AMD Instinct MI455X", 256, 432 * GIB, 192 * MIB),
}


def _resources(variant: Variant, binary: bytes | None, assembly: str | None) -> Resources:
    """Read the metadata at the end of the AMDGCN text."""
    text = assembly or ""
    start = text.rfind("amdhsa.kernels:")
    by_name = dict(re.findall(_AMDGPU_METADATA, text[start:])) if start >= 0 else {}
    values = {name: int(value) for name, value in by_name.items()}
    return Resources(
        # A block of a single wave needs no barrier.
        barriers=int(variant.metadata.get("num_warps") != 1),
        registers=values.get("vgpr_count"),
        stack=values.get("private_segment_fixed_size"),
        accumulation_registers=values.get("agpr_count"),
        scalar_registers=values.get("sgpr_count"),
        vector_spills=values.get("vgpr_spill_count"),
        scalar_spills=values.get("sgpr_spill_count"),
    )


def register_usage(asm: Mapping[str, Any]) -> tuple[int, int]:
    """Return the vector registers and the spilled ones, from the same metadata."""
    matches = (re.search(rf"\.{name}:\s+(\d+)", asm["amdgcn"]) for name in ("vgpr_count", "vgpr_spill_count"))
    registers, spills = (int(match[1]) if match else 0 for match in matches)
    return registers, spills


def _instruction_set() -> InstructionSet:
    from irscope.targets.hip_instructions import AMDGCN

    return AMDGCN


def _device(arch: str, metadata: Mapping[str, Any]) -> Device | None:
    """Return the limits of `arch`.

    In CU mode a work-group stays on one of its processor's compute units.
    """
    device = _DEVICES.get(arch)
    if device in (_RDNA, _RDNA_SMALL) and metadata.get("wgp_cu_mode") == "cu":
        return replace(device, warps=32, blocks=32, shared=64 * KIB, partitions=2, barriers=16)
    return device


def _wave(arch: str) -> int:
    """Return the threads per wave.

    64 up to gfx9 (GCN, CDNA), 32 from gfx10 on (RDNA; LLVM, AMDGPU usage).
    """
    # The last two digits are the minor version and the stepping.
    return 64 if int(arch[3:-2], 16) <= 9 else 32


def _capability(arch: str) -> tuple[int, int]:
    """Return (9, 4) for gfx942, as HIP has it."""
    digits = arch.removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2])


HIP = Backend(
    name=_NAME,
    stages=(Stage("amdgcn", "amdgcn", _NAME), Stage("hsaco", None, _NAME)),
    assembly="amdgcn",
    binary="hsaco",
    machine_code="amdgcn",
    instruction_set=_instruction_set,
    targets=tuple(Target(_NAME, arch, _wave(arch)) for arch in _DEVICES),
    arch=r"gfx[1-9][0-9a-f]{2,4}",
    warp_size=_wave,
    device=_device,
    resources=_resources,
    reference_devices=_REFERENCE_DEVICES,
    capability=_capability,
    register_usage="irscope.targets.hip:register_usage",
    option_defaults={
        "num_warps": 4,
        "num_stages": 2,
        "num_ctas": 1,
        "maxnreg": None,
        "waves_per_eu": 0,
        "matrix_instr_nonkdim": 0,
        "kpack": 1,
    },
    pointer_key="S",
    # HIP Programming Guide, "Hardware implementation", and AMD's ISA documents.
    words={
        "wavefronts of shared memory": "passes of LDS",
        "shared memory": "LDS",
        "local memory": "scratch memory",
        "multiprocessors": "compute units",
        "multiprocessor": "compute unit",
        "warps": "wavefronts",
        "warp": "wavefront",
        "tensor cores": "matrix cores",
        "mma.sync": "matrix instructions",
        "blocks": "workgroups",
        "block": "workgroup",
    },
    path_options=("extern_libs",),
)
