"""Launches of kernels compiled for AMD's GPUs: counts that are known, and the same as for NVIDIA's."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from irscope.estimating.amd_machine_code import amd_code, matrix_work
from irscope.estimating.constants import DEVICES, rates_of
from irscope.estimating.counting.counts import LaunchCounts, count_launch
from irscope.estimating.counting.memory_requests import wavefronts
from irscope.estimating.counting.steady_loops import prepared_program
from irscope.estimating.estimate import estimate
from irscope.estimating.machine_code import AMD_UNITS
from irscope.estimating.terms import Estimate
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.occupancy import BlockUse, occupancy
from irscope.model import Argument, Config, Kernel, Launch, SourceFunction, Target, Toolchain, Variant
from irscope.targets import device_of
from irscope.workspace import Workspace
from tests.estimating.conftest import Compiled

AMD = sorted({rates.target for rates in DEVICES.values() if rates.target.startswith("hip")})
VECTOR = (
    Launch((2,), (("x", "float32[2048]"), ("y", "float32[2048]"), ("n", "1504"))),
    ("strided", "*fp32:16, *fp32:16, i32:16", {"STRIDE": 1, "B": 1024, "num_warps": 4}),
)
PRODUCT = (
    Launch(
        (4, 4),
        (
            *zip("abc", ("float16[256, 1024]", "float16[1024, 256]", "float32[256, 256]"), strict=True),
            ("M", "256"),
            ("N", "256"),
            ("K", "1024"),
        ),
    ),
    (
        "product",
        "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32:16",
        {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": 2},
    ),
)
Case = tuple[Launch, tuple[str, str, dict[str, object]]]


def counted(compiled: Compiled, case: Case, target: str) -> LaunchCounts:
    capture, variant = compiled(*case[1], target)
    stage = "ptx" if target.startswith("cuda") else "llir"
    return count_launch(variant, case[0], capture.text(variant, stage) or "")


def estimated(compiled: Compiled, case: Case, target: str) -> tuple[Estimate, Workspace, Variant]:
    capture, variant = compiled(*case[1], target)
    found = estimate(variant, case[0], lambda stage: capture.contents.find(variant, stage))
    return found, capture, variant


@pytest.mark.parametrize("target", AMD)
def test_a_masked_vector_reads_what_there_is(compiled: Compiled, target: str) -> None:
    found = counted(compiled, VECTOR, target)
    assert found.unknown == found.assumptions == ()
    assert found.sectors("load") * found.programs == 188  # 1504 elements of 4 bytes
    assert found.sectors("store") * found.programs == 188
    loads = [one for one in found.accesses if one.name == "load"]
    assert sum(one.bytes for one in loads) * found.programs == 1504 * 4
    assert {one.tensor for one in loads} == {"x"}
    nvidia = counted(compiled, VECTOR, "cuda:90")
    assert unique_bytes(found) == unique_bytes(nvidia) == {"x": 1504 * 4, "y": 1504 * 4}


def unique_bytes(found: LaunchCounts) -> dict[str, float]:
    found_bytes: dict[str, float] = {}
    for one in found.traffic:
        found_bytes[one.name] = found_bytes.get(one.name, 0.0) + one.unique_bytes(found.programs)
    return found_bytes


@pytest.mark.parametrize("target", ["hip:gfx90a", "hip:gfx942", "hip:gfx950", "hip:gfx1100", "hip:gfx1201"])
def test_a_product_multiplies_and_reads_as_on_nvidia(compiled: Compiled, target: str) -> None:
    found, nvidia = counted(compiled, PRODUCT, target), counted(compiled, PRODUCT, "cuda:80")
    assert found.unknown == found.assumptions == ()
    assert multiply_adds(found) == 64 * 64 * 1024
    assert multiply_adds(nvidia) == 64 * 64 * 1024
    # Blocks of A and B, each program reading 64 rows or columns of 1,024 halves.
    assert found.sectors("load", "copy") == 2 * 64 * 1024 * 2 / 32
    assert sum(one.bytes for one in found.accesses if one.name == "store" and one.space == "global") == (
        64 * 64 * 4
    )
    for name, size in unique_bytes(nvidia).items():
        assert unique_bytes(found)[name] == pytest.approx(size, rel=0.15), name


# Two experts in three blocks of slots; how many slots are used is not known.
EXPERTS = (
    Launch(
        (3, 4),
        (
            *(("a", "float16[48, 512]"), ("b", "float16[2, 512, 128]"), ("c", "float32[48, 128]")),
            *(("slots", "int32[96]"), ("experts", "int32[3]"), ("padded", "int32[1]")),
            *(("N", "128"), ("K", "512"), ("valid", "48")),
        ),
    ),
    (
        "expert_rows",
        "*fp16:16, *fp16:16, *fp32:16, *i32:16, *i32:16, *i32:16, i32:16, i32:16, i32:16",
        {"BM": 32, "BN": 32, "W": 64, "num_warps": 4},
    ),
)


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx1100"])
def test_programs_are_taken_to_work_if_a_value_that_ends_them_is_not_known(
    compiled: Compiled, target: str
) -> None:
    """AMD's compiler puts the end of all early returns before the work."""
    counts = counted(compiled, EXPERTS, target)
    assert (counts.programs, counts.ended) == (12, 0)
    # The line that loads it is that which NVIDIA's PTX has.
    (padded,) = counted(compiled, EXPERTS, "cuda:90").depends
    assert padded in counts.depends and re.fullmatch(r"padded \(line \d+\)", padded)
    assert all(re.search(r" \(line [1-9]\d*\)$", text) for text in counts.depends)
    weights = sum(one.bytes for one in counts.accesses if one.name == "load" and one.tensor == "b")
    assert weights == 32 * 512 * 2  # all columns of the program's block


def multiply_adds(found: LaunchCounts) -> float:
    """Return the multiply-adds of the matrix instructions of a program."""
    total = 0.0
    for name, count in found.matrix().items():
        shape = re.search(r"m(\d+)n(\d+)k(\d+)", name) or re.search(r"(\d+)x(\d+)x(\d+)", name)
        assert shape is not None
        total += count * int(shape[1]) * int(shape[2]) * int(shape[3])
    return total


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950", "hip:gfx1100"])
def test_the_machine_code_runs_as_often_as_the_llvm_ir_says(compiled: Compiled, target: str) -> None:
    capture, variant = compiled(*PRODUCT[1], target)
    llvm, assembly = capture.text(variant, "llir") or "", capture.text(variant, "amdgcn") or ""
    counts = count_launch(variant, PRODUCT[0], llvm)
    made = amd_code(assembly, llvm, prepared_program(llvm, variant.target).program, counts)
    assert made is not None
    units = np.array([AMD_UNITS[int(code)] for code in made.code.opcode])
    executed = {unit: float(made.runs.times[units == unit].sum() * counts.warps) for unit in set(units)}
    assert executed["MATRIX"] == sum(counts.matrix().values())
    accesses = [one for one in counts.accesses if one.space == "global"]
    assert executed["VLOAD"] == sum(one.warps for one in accesses if one.name in ("load", "copy"))
    assert executed["VSTORE"] == sum(one.warps for one in accesses if one.name == "store")


# M x N x K by the peak rate of the type on the matrix core of one SIMD, from the data sheets.
CYCLES = [
    ("gfx90a", "v_mfma_f32_32x32x8_f16", 64),
    ("gfx942", "v_mfma_f32_32x32x8_f16", 32),
    ("gfx942", "v_mfma_f32_16x16x16_bf16", 16),
    ("gfx942", "v_mfma_f32_16x16x32_fp8_fp8", 16),
    ("gfx942", "v_mfma_f32_32x32x2_f32", 64),
    ("gfx950", "v_mfma_f32_32x32x8_f16", 32),
    ("gfx950", "v_mfma_f32_32x32x16_f16", 32),
    ("gfx950", "v_mfma_f32_16x16x128_f8f6f4", 32),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", 32),
]


@pytest.mark.parametrize(("arch", "opcode", "cycles"), CYCLES)
def test_matrix_instructions_take_their_cycles(arch: str, opcode: str, cycles: int) -> None:
    device = next(rates for rates in DEVICES.values() if rates.target == f"hip:{arch}")
    assert matrix_work(opcode, arch) / (device.tensor / 4) == cycles
    assert matrix_work("v_add_f32_e32", arch) == 0


LANES = np.arange(64)


@pytest.mark.parametrize(
    ("addresses", "width", "banks", "expected"),
    [
        (LANES * 4, 4, 32, 2),  # 256 bytes
        (LANES * 16, 16, 32, 8),
        (LANES * 128, 4, 32, 64),  # all in bank 0
        (LANES * 128, 4, 64, 32),  # in banks 0 and 32
        (LANES * 132, 4, 32, 2),  # padded
        (LANES * 0, 4, 32, 2),  # the same word
    ],
)
def test_conflicts_of_known_layouts(
    addresses: np.ndarray[tuple[int], np.dtype[np.int64]], width: int, banks: int, expected: int
) -> None:
    assert wavefronts(addresses[None, :], width, None, banks=banks).tolist() == [expected]


SWIZZLED = """\
@global_smem = external addrspace(3) global [0 x i8], align 16

define amdgpu_kernel void @kernel(ptr addrspace(1) inreg %0) #0 {
  %2 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %3 = and i32 %2, 3
  %4 = lshr i32 %2, 4
  %5 = and i32 %4, 1
  %6 = shl i32 %5, 2
  %7 = or disjoint i32 %3, %6
  %8 = shl i32 %7, 4
  %9 = shl i32 %2, 7
  %10 = or disjoint i32 %9, %8
  %11 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %10
  %12 = load <4 x i32>, ptr addrspace(3) %11, align 16
  store <4 x i32> %12, ptr addrspace(3) %11, align 16
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,64" }
"""


def test_wide_loads_of_lds_combine_threads_that_are_not_neighbors() -> None:
    """Threads 0 to 3 and 20 to 23 are in different banks, 4 to 7 in those of 0 to 3: only stores conflict."""
    function = SourceFunction("kernel", "kernel.py", 1, "")
    variant = Variant(
        1,
        Kernel(1, "kernel", function, (), ("x",)),
        Target("hip", "gfx942", 64),
        (Argument("x", "*fp32", "D"),),
        Config(()),
        Toolchain(1, {}, ""),
    )
    found = count_launch(variant, Launch((4,), (("x", "float32[4096]"),)), SWIZZLED)
    assert found.unknown == () and found.warps == 1
    assert (found.wavefronts("load"), found.wavefronts("store")) == (8, 16)


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx1100"])
def test_waves_are_those_that_the_compiler_counts(compiled: Compiled, target: str) -> None:
    for case in (VECTOR, PRODUCT):
        capture, variant = compiled(*case[1], target)
        artifacts = VariantArtifacts(variant, partial(capture.contents.find, variant))
        device = device_of(variant.target, variant.metadata)
        used = artifacts.resources
        assert device is not None and used.registers is not None
        # The compiler's comment is per SIMD and does not know of LDS that Triton allocates at launch.
        alone = occupancy(device, BlockUse(1, used.registers, 0, 0, used.scalar_registers or 0))
        stated = re.search(r"; Occupancy: (\d+)", artifacts.assembly or "")
        assert stated is not None and alone.warps / device.partitions == int(stated[1])


@pytest.mark.parametrize("target", AMD)
def test_a_vector_is_bound_by_memory(compiled: Compiled, target: str) -> None:
    elements = 1 << 24
    arguments = (("x", f"float32[{elements}]"), ("y", f"float32[{elements}]"), ("n", str(elements)))
    found, _, variant = estimated(compiled, (Launch((elements // 1024,), arguments), VECTOR[1]), target)
    device = rates_of(variant.target)
    assert device is not None
    assert found.bound == "memory" and found.complete
    assert 1 < (found.microseconds - 6) / (2 * 4 * elements / device.memory / 1e3) < 1.7
    assert "was measured" in found.limits[0]


def test_an_estimate_has_the_words_of_amd(compiled: Compiled) -> None:
    found, capture, variant = estimated(compiled, PRODUCT, "hip:gfx942")
    names = {term.name for term in found.terms}
    assert {"matrix cores", "LDS", "latency", "Infinity Cache"} <= names
    text = " ".join((found.bound, *names, *(term.text for term in found.terms)))
    assert "compute unit" in text and "passes of LDS" in text and "wavefront" in text
    for word in ("ultiprocessor", "warp", "shared memory", "tensor core", "mma.sync", "block"):
        assert word not in text
    stages = {line.stage for term in found.terms for line in term.evidence}
    assert stages == {"llir", "amdgcn"}
    for line in (line for term in found.terms for line in term.evidence):
        shown = capture.document(variant, line.stage).lines[line.line]
        assert re.search(r"load|store|mfma|^\d+:|phi|br ", shown), shown


@pytest.mark.parametrize("target", ["hip:gfx942", "cuda:80"])
def test_descriptors_without_tma_are_pointers_with_shapes(compiled: Compiled, target: str) -> None:
    block = "in blocks of [64, 64]"
    arguments = (
        ("a", f"tensordesc float16[256, 1024] {block}"),
        ("b", f"tensordesc float16[256, 1024] {block}"),
        ("c", f"tensordesc float16[256, 256] {block}"),
        ("K", "1024"),
    )
    described = "tensordesc<fp16[64, 64]>"
    config: dict[str, object] = {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": 2}
    case: Case = (
        Launch((4, 4), arguments),
        ("described", f"{described}, {described}, {described}, i32:16", config),
    )
    found = counted(compiled, case, target)
    assert found.unknown == ()
    assert multiply_adds(found) == 64 * 64 * 1024
    assert found.sectors("load", "copy") == 2 * 64 * 1024 * 2 / 32
    assert unique_bytes(found)["c"] == 256 * 256 * 2
