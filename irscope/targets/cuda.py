"""The CUDA backend: PTX, cubins and SASS, and NVIDIA's devices."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from irscope.model import Stage, Target, Variant
from irscope.targets.backend import GIB, KIB, MIB, Backend, Device, ReferenceDevice, Resources

if TYPE_CHECKING:
    from irscope.targets.elf import ElfSection
    from irscope.targets.instructions import InstructionSet

_NAME = "cuda"
# The module of the hooks, which run NVIDIA's tools.
_TOOLS = "irscope.compiling.processes.disassembler"
_WARP_SIZE = 32

# Attributes of .nv.info sections by NVIDIA's names, which `cuobjdump -elf` prints: a format byte, the
# attribute, then two bytes that are the value itself or, in format 4 (SVAL), the size of the data after them.
_SVAL, _BVAL = 4, 2
_REGCOUNT, _FRAME_SIZE, _MIN_STACK_SIZE, _NUM_BARRIERS = 0x2F, 0x11, 0x12, 0x4C
# Far more than any kernel has: an attribute has 4 to a few hundred bytes.
_MOST_INFO = 1 << 20
_FUNC = 2  # STT_FUNC

# The output of ptxas -v, which calls itself ptxas or ptxas-blackwell. Patterns are text because listing
# a capture uses none of them.
_PROPERTIES = (
    r"Function properties for (\S+)\s+\d+ bytes stack frame, "
    r"(\d+) bytes spill stores, (\d+) bytes spill loads"
)
_WARNING = r"(?m)^ptxas[\w-]* *(?:info|warning) *: *(?:\(C\d+\) *)?(Potential Performance Loss: .*)$"
# The prefix of each line of ptxas -v, and the lines that name the function that the next ones are about.
_PREFIX = r"^ptxas[\w-]* *info *: *"
_FUNCTION = r"(?:Function properties for|Compiling entry function) '?([\w$.]+)'?(?: for '\w+')?"


def _volta(blocks: int, warps: int, shared_kib: int) -> Device:
    return Device(warps, blocks, shared_kib * KIB, shared_kib * KIB, shared_unit=256)


def _ampere(blocks: int, warps: int, shared_kib: int, barriers: int | None = None) -> Device:
    """Return a device of cc 8.0 or later: the driver keeps 1 KiB of each block's shared memory."""
    return Device(
        warps,
        blocks,
        shared=shared_kib * KIB,
        block_shared=(shared_kib - 1) * KIB,
        shared_unit=128,
        reserved_shared=KIB,
        barriers=barriers,
    )


# CUDA Programming Guide 13, section 5.1.3, tables 30 (resident blocks and warps) and 31 (registers: 64 K
# per SM on all; shared memory per SM and block); cc 7.0 and 7.2 from the CUDA C++ Programming Guide 12,
# "Technical Specifications per Compute Capability". Allocation units, sub-partitions (4, so 16,384
# registers for 32 lanes each, allocated 256 per warp) and barriers (limit from cc 9.0 on) from NVIDIA's
# cuda_occupancy.h of CUDA 13. cc 10.1 is what CUDA 12 called 11.0.
_DEVICES = {
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

# NVIDIA's data sheets and architecture white papers; the H200's figures are what its driver reported.
_REFERENCE_DEVICES = {
    "70": ReferenceDevice("Tesla V100-SXM2-16GB", 80, 16 * GIB, 6 * MIB),
    "72": ReferenceDevice("Xavier", 8, 32 * GIB, MIB // 2),
    "75": ReferenceDevice("Tesla T4", 40, 16 * GIB, 4 * MIB),
    "80": ReferenceDevice("NVIDIA A100-SXM4-80GB", 108, 80 * GIB, 40 * MIB),
    "86": ReferenceDevice("NVIDIA GeForce RTX 3090", 82, 24 * GIB, 6 * MIB),
    "87": ReferenceDevice("Orin", 16, 64 * GIB, 4 * MIB),
    "89": ReferenceDevice("NVIDIA GeForce RTX 4090", 128, 24 * GIB, 72 * MIB),
    "90": ReferenceDevice("NVIDIA H200", 132, 143_771 * MIB, 60 * MIB),
    "100": ReferenceDevice("NVIDIA B200", 148, 180 * GIB, 126 * MIB),
    "101": ReferenceDevice("NVIDIA Thor", 20, 128 * GIB, 32 * MIB),
    "103": ReferenceDevice("NVIDIA B300 SXM6 AC", 148, 270 * GIB, 126 * MIB),
    "110": ReferenceDevice("NVIDIA Thor", 20, 128 * GIB, 32 * MIB),
    "120": ReferenceDevice("NVIDIA GeForce RTX 5090", 170, 32 * GIB, 96 * MIB),
    "121": ReferenceDevice("NVIDIA GB10", 48, 128 * GIB, 24 * MIB),
}


class KernelInfo(NamedTuple):
    """The resources of one kernel in a cubin: registers and stack bytes per thread, barriers per block.

    None if the cubin does not say.
    """

    registers: int | None
    stack: int | None
    barriers: int | None


def kernel_info(content: bytes, kernel: str) -> KernelInfo:
    """Return the resources of the kernel named `kernel` in a cubin.

    Raises ValueError if `content` is damaged.
    """
    from irscope.targets.elf import sections

    by_name = {section.name: section for section in sections(content)}
    code = by_name.get(f".text.{kernel}")
    if code is None:
        return KernelInfo(None, None, None)
    symbol = _symbol_index(by_name, kernel)
    registers = stack = barriers = None
    for attribute, data in _attributes(by_name.get(".nv.info")):
        if len(data) == 8 and symbol is not None:
            owner, value = struct.unpack("<II", data)
            if owner == symbol and attribute == _REGCOUNT:
                registers = value
            elif owner == symbol and attribute in (_FRAME_SIZE, _MIN_STACK_SIZE):
                stack = max(value, stack or 0)
    for attribute, data in _attributes(by_name.get(f".nv.info.{kernel}")):
        if attribute == _NUM_BARRIERS and data:
            barriers = data[0]
    if barriers is None:
        barriers = code.flags >> 20 & 0x7F  # older versions of ptxas have no attribute
    return KernelInfo(registers, stack, barriers)


def _attributes(section: ElfSection | None) -> Iterator[tuple[int, bytes]]:
    """Yield the (attribute, value) pairs of a .nv.info section. Raises ValueError if it is too large."""
    from irscope.targets.elf import bounded

    data = bounded(section, _MOST_INFO)
    offset = 0
    while offset + 4 <= len(data):
        form, attribute = data[offset], data[offset + 1]
        (size,) = struct.unpack_from("<H", data, offset + 2)
        if form == _SVAL:
            yield attribute, data[offset + 4 : offset + 4 + size]
            offset += 4 + size
        else:
            yield attribute, data[offset + 2 : offset + (3 if form == _BVAL else 4)]
            offset += 4


def _symbol_index(by_name: dict[str, ElfSection], kernel: str) -> int | None:
    """Return the index of `kernel` in the symbol table; .nv.info names functions by it."""
    from irscope.targets.elf import LONGEST_NAME, symbols

    table, names = by_name.get(".symtab"), by_name.get(".strtab")
    encoded_name = kernel.encode("utf-8", "replace") + b"\0"
    if table is None or names is None or len(encoded_name) > LONGEST_NAME:
        return None
    texts = bytes(names.data)
    for index, (name, kind, *_) in enumerate(symbols(table)):
        if kind & 0xF == _FUNC and texts.startswith(encoded_name, name):
            return index
    return None


def _resources(variant: Variant, binary: bytes | None, assembly: str | None) -> Resources:
    """Read the cubin and the log of ptxas, as far as the variant has them and they are undamaged."""
    kernel = str(variant.metadata.get("name", variant.kernel.name))
    registers = stack = barriers = None
    if binary is not None:
        try:
            info = kernel_info(binary, kernel)
        except ValueError:
            info = None
        if info:
            registers, stack, barriers = info.registers, info.stack, info.barriers
    spills = {match[1]: match for match in re.finditer(_PROPERTIES, variant.log or "")}.get(kernel)
    return Resources(
        registers=registers,
        stack=stack,
        barriers=barriers,
        spill_store_bytes=int(spills[2]) if spills else None,
        spill_load_bytes=int(spills[3]) if spills else None,
    )


def ptxas_warnings(log: str | None) -> tuple[str, ...]:
    """Return the performance warnings of ptxas without duplicates, in the order of the log."""
    return tuple(dict.fromkeys(match[1].strip() for match in re.finditer(_WARNING, log or "")))


def ptxas_functions(log: str | None) -> tuple[tuple[str, str], ...]:
    """Return the functions in the log of `ptxas -v` with its text on each: "Used 64 registers, ..."."""
    by_function: dict[str, list[str]] = {}
    name = ""
    for line in (log or "").splitlines():
        text = re.sub(_PREFIX, "", line).strip()
        if match := re.fullmatch(_FUNCTION, text):
            name = match[1]
        elif name and ("stack frame" in text or text.startswith("Used ")):
            by_function.setdefault(name, []).append(text)
    return tuple((function, "; ".join(texts)) for function, texts in by_function.items())


def _instruction_set() -> InstructionSet:
    from irscope.targets.cuda_instructions import PTX

    return PTX


def _machine_instruction_set() -> InstructionSet:
    from irscope.targets.cuda_instructions import SASS

    return SASS


def _device(arch: str, metadata: Mapping[str, Any]) -> Device | None:
    return _DEVICES.get(arch)


CUDA = Backend(
    name=_NAME,
    stages=(
        Stage("ptx", "ptx", _NAME),
        Stage("cubin", None, _NAME),
        Stage("sass", "sass", _NAME, derived_from="cubin", disassembler=f"{_TOOLS}:disassemble"),
    ),
    assembly="ptx",
    binary="cubin",
    machine_code="sass",
    instruction_set=_instruction_set,
    targets=tuple(Target(_NAME, arch, _WARP_SIZE) for arch in _DEVICES),
    arch=r"[1-9][0-9]{1,2}",
    warp_size=lambda arch: _WARP_SIZE,
    device=_device,
    resources=_resources,
    reference_devices=_REFERENCE_DEVICES,
    triton_arch=int,
    capability=lambda arch: (int(arch) // 10, int(arch) % 10),
    has_bf16=lambda arch: int(arch) >= 80,
    default_shared=48 * KIB,
    register_usage=f"{_TOOLS}:register_usage",
    warnings=ptxas_warnings,
    option_defaults={"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None},
    machine_instruction_set=_machine_instruction_set,
    log_stage="cubin",
    versions=f"{_TOOLS}:ptxas_version",
    assembler_variables=("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"),
)
