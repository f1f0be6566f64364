"""What a compiled kernel takes of a multiprocessor, out of the cubin, the ptxas log or the AMDGCN text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irscope.backends.elf import kernel_info

# ptxas -v, from "Function properties for NAME" on; the names of its own are ptxas and ptxas-blackwell.
_PROPERTIES = re.compile(
    r"Function properties for (\S+)\s+\d+ bytes stack frame, "
    r"(\d+) bytes spill stores, (\d+) bytes spill loads"
)
_WARNING = re.compile(
    r"^ptxas[\w-]* *(?:info|warning) *: *(?:\(C\d+\) *)?(Potential Performance Loss: .*)$", re.M
)

# The keys of code object V5 metadata, "amdhsa.kernels" (LLVM, User Guide for AMDGPU Backend). From gfx90a
# on .vgpr_count holds the accumulation registers too.
_AMDGPU_METADATA = re.compile(r"^ +(?:- )?\.(\w+): +(\d+)$", re.M)


@dataclass(frozen=True, slots=True)
class Resources:
    """What one kernel takes; None where it is not known.

    `registers` are 32-bit registers a thread (AMD: vector registers, accumulation registers among them),
    `stack` bytes of local memory (scratch) a thread, `barriers` a block. `spill_store_bytes` and
    `spill_load_bytes` are ptxas' count over the code of one thread; `vector_spills` and `scalar_spills`
    AMD's spilled registers; `scalar_registers` those of a wave.
    """

    registers: int | None = None
    stack: int | None = None
    barriers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    accumulation_registers: int | None = None
    scalar_registers: int | None = None
    vector_spills: int | None = None
    scalar_spills: int | None = None


def cuda_resources(cubin: bytes | None, log: str | None, kernel: str) -> Resources:
    """What the kernel named `kernel` takes, as far as its cubin and the ptxas log are there and sound."""
    registers = stack = barriers = None
    if cubin is not None:
        try:
            info = kernel_info(cubin, kernel)
        except ValueError:
            info = None
        if info:
            registers, stack, barriers = info.registers, info.stack, info.barriers
    spills = {match[1]: match for match in _PROPERTIES.finditer(log or "")}.get(kernel)
    return Resources(
        registers=registers,
        stack=stack,
        barriers=barriers,
        spill_store_bytes=int(spills[2]) if spills else None,
        spill_load_bytes=int(spills[3]) if spills else None,
    )


def hip_resources(amdgcn: str | None) -> Resources:
    """What the kernel takes, by the metadata at the end of its AMDGCN text."""
    text = amdgcn or ""
    start = text.rfind("amdhsa.kernels:")
    found = dict(_AMDGPU_METADATA.findall(text[start:])) if start >= 0 else {}
    values = {name: int(value) for name, value in found.items()}
    return Resources(
        registers=values.get("vgpr_count"),
        stack=values.get("private_segment_fixed_size"),
        accumulation_registers=values.get("agpr_count"),
        scalar_registers=values.get("sgpr_count"),
        vector_spills=values.get("vgpr_spill_count"),
        scalar_spills=values.get("sgpr_spill_count"),
    )


def ptxas_warnings(log: str | None) -> tuple[str, ...]:
    """What ptxas itself says costs performance, each once, in the order of the log."""
    return tuple(dict.fromkeys(match[1].strip() for match in _WARNING.finditer(log or "")))
