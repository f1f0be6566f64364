"""The XPU backend: SPIR-V, which Intel's driver compiles when the kernel is loaded."""

from irscope.model import Stage
from irscope.targets.backend import Backend, Resources

NAME = "xpu"
# SYCL's numbers of architectures (sycl::ext::oneapi::experimental::architecture): the IP version of the GPU.
_ARCHITECTURES = {
    0x30F000700: "pvc",
    0x500400400: "bmg",
    0x500404004: "lnl",
    0x30DC00800: "dg2",
}


def _arch_name(arch):
    """The name of an architecture; Triton's GPUTarget has the properties that SYCL reports."""
    number = arch.get("architecture", 0) if isinstance(arch, dict) else 0
    return _ARCHITECTURES.get(number, f"ip{number:x}" if isinstance(number, int) else "unknown")


def _resources(variant, binary, assembly):
    """Nothing: the driver allocates registers when it loads the kernel."""
    return Resources()


def _instruction_set():
    from irscope_xpu.spirv_language import INSTRUCTIONS

    return INSTRUCTIONS


XPU = Backend(
    name=NAME,
    stages=(
        Stage("spv", None, NAME),
        Stage("spvasm", "spirv", NAME, derived_from="spv", disassembler="irscope_xpu.spirv:disassemble"),
    ),
    layout_dialects=frozenset(["triton_intel_gpu", "ttig"]),
    languages={"spirv": "irscope_xpu.spirv_language"},
    assembly="spvasm",
    binary="spv",
    machine_code="spvasm",
    instruction_set=_instruction_set,
    targets=(),
    arch=r"[a-z][a-z0-9]{1,15}",
    warp_size=lambda arch: 32,
    arch_name=_arch_name,
    device=lambda arch, metadata: None,
    resources=_resources,
    option_defaults={"num_warps": 4, "num_stages": 2, "num_ctas": 1, "threads_per_warp": 32},
)
