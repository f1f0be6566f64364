"""Integer instructions, wavefronts and control flow of PTX texts without a compiler."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.estimating.counting.counts import LaunchCounts, count_launch
from irscope.estimating.counting.lanes import operation
from irscope.estimating.counting.memory_requests import copied_wavefronts, sectors, wavefronts
from irscope.estimating.counting.programs import sampled_programs
from irscope.model import Argument, Config, Kernel, Launch, SourceFunction, Target, Toolchain, Variant

INT32 = st.integers(-(2**31), 2**31 - 1)


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def compute(opcode: str, *numbers: int) -> int:
    function = operation(tuple(opcode.split(".")))
    assert function is not None
    with np.errstate(all="ignore"):
        return int(function(*(np.array([[number]], np.int32) for number in numbers)).flat[0])


@given(INT32, INT32)
def test_arithmetic_wraps_as_in_hardware(a: int, b: int) -> None:
    assert compute("add.s32", a, b) == wrapped(a + b)
    assert compute("mul.lo.s32", a, b) == wrapped(a * b)
    assert compute("mul.wide.s32", a, b) == a * b
    assert compute("mul.hi.s32", a, b) == (a * b) >> 32
    assert compute("mul.hi.u32", a, b) == wrapped(((a % 2**32) * (b % 2**32)) >> 32)
    if b and (a, b) != (-(2**31), -1):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        assert compute("div.s32", a, b) == quotient
        assert compute("rem.s32", a, b) == a - quotient * b
        assert compute("div.u32", a, b) == wrapped((a % 2**32) // (b % 2**32))


@given(INT32, st.integers(0, 40))
def test_shifts_by_more_than_the_width(a: int, by: int) -> None:
    assert compute("shl.b32", a, by) == (wrapped(a << by) if by < 32 else 0)
    assert compute("shr.u32", a, by) == (wrapped((a % 2**32) >> by) if by < 32 else 0)
    assert compute("shr.s32", a, by) == a >> min(by, 31)


@given(INT32, st.integers(0, 31), st.integers(0, 32))
def test_bit_fields(a: int, position: int, length: int) -> None:
    expected = (a % 2**32) >> position & ((1 << length) - 1)
    assert compute("bfe.u32", a, position, length) == wrapped(expected)


@given(INT32, INT32)
def test_byte_permutation(a: int, b: int) -> None:
    both = (a % 2**32).to_bytes(4, "little") + (b % 2**32).to_bytes(4, "little")
    expected = int.from_bytes([both[at] for at in (0, 1, 4, 5)], "little")
    assert compute("prmt.b32", a, b, 0x5410) == wrapped(expected)


@given(INT32, INT32, INT32)
def test_any_function_of_three_bits(a: int, b: int, c: int) -> None:
    assert compute("lop3.b32", a, b, c, 0xF8) == a | (b & c)
    assert compute("lop3.b32", a, b, c, 0x96) == a ^ b ^ c


LANES = np.arange(32, dtype=np.int64)


@pytest.mark.parametrize(
    ("addresses", "width", "expected"),
    [
        (LANES * 4, 4, 1),
        (LANES * 0, 4, 1),  # one word for all
        (LANES * 128, 4, 32),  # one bank for all
        (LANES * 132, 4, 1),  # padded rows
        (LANES * 8, 8, 2),
        (LANES * 16, 16, 4),
        (LANES * 256, 16, 32),
        (LANES % 4 * 8, 8, 2),  # the words of both halves of the warp
    ],
)
def test_wavefronts(addresses: np.ndarray, width: int, expected: int) -> None:
    assert wavefronts(addresses[None, :], width, None).tolist() == [expected]


@pytest.mark.parametrize(
    ("addresses", "width", "expected"),
    [
        (LANES // 4 * 8, 8, 1),
        (LANES // 4 * 16, 16, 2),
        (LANES % 16 * 16, 16, 4),  # equal addresses are far apart
        (LANES * 0, 16, 2),
    ],
)
def test_loads_of_equal_addresses_are_merged(addresses: np.ndarray, width: int, expected: int) -> None:
    """As Nsight Compute counted on an H100."""
    assert wavefronts(addresses[None, :], width, None, merged=True).tolist() == [expected]


def test_wavefronts_of_some_threads() -> None:
    assert wavefronts((LANES * 128)[None, :], 4, (LANES < 3)[None, :]).tolist() == [3]


def test_copies_take_a_wavefront_per_line_that_they_read() -> None:
    written = (LANES * 16)[None, :]
    rows_of_64_bytes = (LANES // 4 * 4096 + LANES % 4 * 16)[None, :]
    assert copied_wavefronts(written, written, None, None, 16).tolist() == [4]
    assert copied_wavefronts(rows_of_64_bytes, written, None, None, 16).tolist() == [8]


def test_sectors_and_lines() -> None:
    found = sectors((LANES * 16)[None, :], None)
    assert [one.tolist() for one in found] == [[16], [4]]


def test_sampled_programs_represent_the_grid() -> None:
    assert sampled_programs((2, 3, 1), 16) == [(x, y, 0) for y in range(3) for x in range(2)]
    found = sampled_programs((64, 1, 32), 16)
    assert len(set(found)) == 16
    assert np.mean([x for x, _, _ in found]) == pytest.approx(31.5, abs=2)
    assert np.mean([z for _, _, z in found]) == pytest.approx(15.5, abs=3)


HEADER = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry kernel(
	.param .u64 .ptr .global .align 1 kernel_param_0,
	.param .u32 kernel_param_1
)
.reqntid 64
{
	.reg .pred 	%p<9>;
	.reg .b32 	%r<99>;
	.reg .b64 	%rd<99>;
"""


def counted(body: str, n: int = 100) -> LaunchCounts:
    function = SourceFunction("kernel", "kernel.py", 1, "")
    variant = Variant(
        1,
        Kernel(1, "kernel", function, (), ("x", "n")),
        Target("cuda", "90", 32),
        (Argument("x", "*fp32", "D"), Argument("n", "i32", "")),
        Config(()),
        Toolchain(1, {}, ""),
    )
    launch = Launch((4,), (("x", "float32[4096]"), ("n", str(n))))
    return count_launch(variant, launch, HEADER + body + "\n}\n")


LOOP = """
	ld.param.b32 	%r1, [kernel_param_1];
	mov.b32 	%r2, 0;
$L__BB0_1:
	add.s32 	%r2, %r2, 3;
	setp.lt.s32 	%p1, %r2, %r1;
	@%p1 bra 	$L__BB0_1;
	ret;
"""


@pytest.mark.parametrize("n", [1, 3, 4, 100, 100_000, 2_000_000_000])
def test_a_loop_runs_as_often_as_its_condition_says(n: int) -> None:
    (loop,) = counted(LOOP, n).loops
    assert loop.iterations == -(-n // 3)


def test_threads_of_a_transposed_store_conflict() -> None:
    found = counted(
        """
	mov.u32 	%r1, %tid.x;
	shl.b32 	%r2, %r1, 7;
	mov.b32 	%r3, global_smem;
	add.s32 	%r4, %r3, %r2;
	st.shared.b32 	[%r4], %r1;
	shl.b32 	%r5, %r1, 2;
	add.s32 	%r6, %r3, %r5;
	ld.shared.b32 	%r7, [%r6+64];
	ret;
"""
    )
    assert found.wavefronts("store") == 2 * 32
    assert found.wavefronts("load") == 2


def test_only_one_warp_copies() -> None:
    found = counted(
        """
	ld.param.b64 	%rd1, [kernel_param_0];
	mov.u32 	%r1, %tid.x;
	setp.gt.u32 	%p1, %r1, 31;
	@%p1 bra 	$L__BB0_2;
	mul.wide.u32 	%rd2, %r1, 4;
	add.s64 	%rd3, %rd1, %rd2;
	ld.global.b32 	%r2, [%rd3];
$L__BB0_2:
	bar.sync 	0;
	ret;
"""
    )
    (load,) = found.accesses
    assert (load.warps, load.threads, load.sectors) == (1, 32, 4)
    assert found.blocks[-1] == 2


def test_a_branch_that_depends_on_data_is_an_assumption() -> None:
    found = counted(
        """
	ld.param.b64 	%rd1, [kernel_param_0];
$L__BB0_1:
	ld.global.f32 	%f1, [%rd1];
	setp.gt.f32 	%p1, %f1, 0f00000000;
	@%p1 bra 	$L__BB0_1;
	ret;
"""
    )
    assert any("depends on data" in text for text in found.assumptions)
    assert found.unknown == ()


SPECIALIZED = """
	mov.u32 	%r1, %tid.x;
	shr.u32 	%r2, %r1, 5;
	setp.eq.b32 	%p1, %r2, 0;
	mov.b32 	%r3, global_smem;
	@%p1 bra 	$L__BB0_3;
	barrier.sync 	1;
	ld.shared.b8 	%r4, [%r3+16];
$L_targets: .branchtargets
	$L__BB0_2,
	$L__BB0_1;
	brx.idx 	%r4, $L_targets;
$L__BB0_1:
	ex2.approx.f32 	%f1, %f2;
	ret;
$L__BB0_2:
	rsqrt.approx.f32 	%f1, %f2;
	ret;
$L__BB0_3:
	mov.b16 	%rs1, 1;
	st.shared.b8 	[%r3+16], %rs1;
	barrier.sync 	1;
	ret;
"""


def test_warps_get_their_work_through_shared_memory() -> None:
    found = counted(SPECIALIZED)
    assert found.unknown == ()
    assert found.assumptions == ()
    # Both warps run the first block, each one of its own, and one the block that the state selects.
    assert found.blocks == (2.0, 1.0, 1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "	brx.idx 	%r1, $L_targets;\n	ret;",
        "$L__BB0_1:\n	bra.uni 	$L__BB0_1;",
        "	frobnicate.b32 	%r1, %r2, %%, {;\n	st.global.b32 	[%rd1], %r1;\n	ret;",
        "	shl.b32 	%r1, 99999999999999999999, -1;\n	st.shared.v4.b32 	[%r1], {%r1};\n	ret;",
        "	add.s32 	%r1;\n	ld.shared.b32 	%r2, [];\n	st.global.b64 	[%r2+x], %r2;\n	ret;",
    ],
)
def test_any_text_gives_counts(body: str) -> None:
    found = counted(body)
    assert found.programs == 4


@given(st.text(alphabet="ldst.globashr%r12[]{}+,;: \n@!$", max_size=200))
def test_random_text_gives_counts(text: str) -> None:
    counted(text)
