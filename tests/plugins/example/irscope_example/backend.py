"""The backend of an imaginary device. irscope imports this module when it first meets the name `example`."""

import re

from irscope.model import Stage, Target
from irscope.targets.backend import GIB, KIB, MIB, Backend, Device, ReferenceDevice, Resources

NAME = "example"
_DEVICES = {
    "x1": Device(warps=32, blocks=32, shared=64 * KIB, block_shared=64 * KIB, shared_unit=512),
    "x2": Device(warps=64, blocks=32, shared=128 * KIB, block_shared=64 * KIB, shared_unit=512),
}


def _resources(variant, binary, assembly):
    """The registers in the first line of the assembly: `.registers 12`."""
    found = re.match(r"\.registers (\d+)", assembly or "")
    return Resources(registers=int(found[1]) if found else None, stack=0, barriers=1)


def _instruction_set():
    from irscope_example.exasm import EXASM

    return EXASM


def register_usage(asm):
    """Registers and spilled words of a compiled kernel, as the driver counts them."""
    return int(re.match(r"\.registers (\d+)", asm["exasm"])[1]), 0


def disassemble(binary):
    """The text of a binary, as a disassembler prints it."""
    return binary.removeprefix(b"EXAMPLE\0").decode()


def versions(arch):
    """The tools whose version determines the result of a compilation."""
    return {"exas": "1.0"}


EXAMPLE = Backend(
    name=NAME,
    stages=(
        Stage("exasm", "exasm", NAME),
        Stage("exbin", None, NAME),
        Stage(
            "exdis", "exasm", NAME, derived_from="exbin", disassembler="irscope_example.backend:disassemble"
        ),
    ),
    languages={"exasm": "irscope_example.exasm"},
    assembly="exasm",
    binary="exbin",
    machine_code="exdis",
    instruction_set=_instruction_set,
    machine_instruction_set=_instruction_set,
    targets=tuple(Target(NAME, arch, 64) for arch in _DEVICES),
    arch=r"x[1-9]",
    warp_size=lambda arch: 64,
    device=lambda arch, metadata: _DEVICES.get(arch),
    reference_devices={
        "x1": ReferenceDevice("Example X1", 16, 8 * GIB, 4 * MIB),
        "x2": ReferenceDevice("Example X2", 32, 16 * GIB, 8 * MIB),
    },
    capability=lambda arch: (int(arch[1:]), 0),
    resources=_resources,
    register_usage=f"{__name__}:register_usage",
    option_defaults={"num_warps": 4, "num_stages": 2, "num_ctas": 1},
    versions=f"{__name__}:versions",
)
