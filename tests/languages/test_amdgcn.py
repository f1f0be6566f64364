"""The AMDGCN parser: opcodes, registers and normalized text of instructions, and `.loc`."""

from pathlib import Path

import pytest

from irscope.languages.amdgcn import parse
from irscope.languages.document import OPAQUE, Location, Operation

STAGES = Path(__file__).parents[1] / "data" / "stages"


def parse_one(line: str) -> Operation:
    text = f"\t.type\tk,@function\nk:                     ; @k\n\t{line}\n.Lfunc_end0:\n"
    [operation] = parse(text).operations
    assert operation.function == 0
    return operation


@pytest.mark.parametrize(
    ("line", "opcode", "normal", "results", "operands"),
    [
        (
            "s_load_dwordx2 s[2:3], s[0:1], 0x0",
            "s_load_dwordx2",
            "s_load_dwordx2 s[2], s[2], 0x0",
            ("s[2:3]",),
            ("s[0:1]",),
        ),
        (
            "v_max3_f32 v4, -v4, |v0|, v1",
            "v_max3_f32",
            "v_max3_f32 v, -v, |v|, v",
            ("v4",),
            ("v4", "v0", "v1"),
        ),
        (
            "v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[4:5], a[0:15]",
            "v_mfma_f32_32x32x8_f16",
            "v_mfma_f32_32x32x8_f16 a[16], v[2], v[2], a[16]",
            ("a[0:15]",),
            ("v[2:3]", "v[4:5]", "a[0:15]"),
        ),
        (
            "v_pk_mul_f32 v[2:3], v[2:3], s[0:1] op_sel_hi:[1,0]",
            "v_pk_mul_f32",
            "v_pk_mul_f32 v[2], v[2], s[2] op_sel_hi:[1,0]",
            ("v[2:3]",),
            ("v[2:3]", "s[0:1]"),
        ),
        (
            "v_cmp_gt_i32_e32 vcc, s7, v2",
            "v_cmp_gt_i32_e32",
            "v_cmp_gt_i32_e32 vcc, s, v",
            ("vcc",),
            ("s7", "v2"),
        ),
        (
            "v_add_co_u32_e32 v1, vcc, s4, v2",
            "v_add_co_u32_e32",
            "v_add_co_u32_e32 v, vcc, s, v",
            ("v1", "vcc"),
            ("s4", "v2"),
        ),
        (
            "v_div_scale_f32 v1, s[2:3], v4, v4, v5",
            "v_div_scale_f32",
            "v_div_scale_f32 v, s[2], v, v, v",
            ("v1", "s[2:3]"),
            ("v4", "v4", "v5"),
        ),
        (
            "v_mov_b32_dpp v5, v4 row_shr:8 row_mask:0xf",
            "v_mov_b32_dpp",
            "v_mov_b32_dpp v, v row_shr:8 row_mask:0xf",
            ("v5",),
            ("v4",),
        ),
        (
            "global_store_dwordx4 v[0:1], v[2:5], off offset:16",
            "global_store_dwordx4",
            "global_store_dwordx4 v[2], v[4], off offset:16",
            (),
            ("v[0:1]", "v[2:5]"),
        ),
        (
            "ds_write2st64_b64 v4, v[2:3], v[0:1] offset1:8",
            "ds_write2st64_b64",
            "ds_write2st64_b64 v, v[2], v[2] offset1:8",
            (),
            ("v4", "v[2:3]", "v[0:1]"),
        ),
        ("v_accvgpr_write_b32 a3, 0", "v_accvgpr_write_b32", "v_accvgpr_write_b32 a, 0", ("a3",), ()),
        ("s_cmp_lt_i32 s14, 1", "s_cmp_lt_i32", "s_cmp_lt_i32 s, 1", (), ("s14",)),
        ("s_mov_b64 ttmp[4:5], exec", "s_mov_b64", "s_mov_b64 ttmp[2], exec", ("ttmp[4:5]",), ("exec",)),
        ("s_waitcnt vmcnt(0) lgkmcnt(0)  ; wait", "s_waitcnt", "s_waitcnt vmcnt(0) lgkmcnt(0)", (), ()),
        ("s_cbranch_execz .LBB0_12", "s_cbranch_execz", "s_cbranch_execz .LBB", (), ()),
        ("s_endpgm", "s_endpgm", "s_endpgm", (), ()),
        ("??? v4", OPAQUE, "??? v", (), ()),
    ],
)
def test_instruction(
    line: str, opcode: str, normal: str, results: tuple[str, ...], operands: tuple[str, ...]
) -> None:
    operation = parse_one(line)
    assert (operation.opcode, operation.normalized) == (opcode, normal)
    assert (operation.results, operation.operands) == (results, operands)


def test_register_width_is_kept() -> None:
    assert parse_one("v_mov_b64 v[2:3], 0").normalized != parse_one("v_mov_b64 v[2:5], 0").normalized


def test_metadata_is_not_an_operation() -> None:
    metadata = "\t.amdgpu_metadata\n---\namdhsa.kernels:\n  - .args: []\n...\n\n\t.end_amdgpu_metadata\n"
    document = parse(f"\ts_endpgm\n{metadata}\ts_nop 0\n")
    assert [operation.opcode for operation in document.operations] == ["s_endpgm", "s_nop"]


def test_locations() -> None:
    text = """\
	.file	1 "/src" "k.py"
	.loc	1 14 0 prologue_end             ; k.py:14:0
	s_nop 0
	.loc	1 0 0 is_stmt 0                 ; :0:0
	s_nop 0
	.file	2 "/triton" "standard.py"
	.loc	2 43 17 is_stmt 1               ; standard.py:43:17 @[ k.py:9:27 ]
	s_nop 0
	.loc	2 0 17 is_stmt 0                ; standard.py:0:17 @[ k.py:9:27 ]
	s_nop 0
"""
    call = Location("/src/k.py", 9, 27)
    expected = [Location("/src/k.py", 14, 0), None, Location("/triton/standard.py", 43, 17, call), call]
    assert [operation.location for operation in parse(text).operations] == expected


@pytest.mark.parametrize(
    ("version", "combine", "reduce", "call"),
    [("3.6.0", (170, 27), (191, 40), (19, 19)), ("3.9.0", (196, 12), (216, 16), (19, 13))],
)
def test_reduction_is_inlined_from_the_library(
    version: str, combine: tuple[int, int], reduce: tuple[int, int], call: tuple[int, int]
) -> None:
    path = STAGES / f"softmax_kernel.hip-gfx942.BLOCK_SIZE=1024,num_warps=4.triton-{version}.amdgcn"
    library, kernel = "/triton/language/standard.py", "/src/kernels.py"
    maximum = next(o for o in parse(path.read_text()).operations if o.opcode == "v_max_f32_e32")
    expected = Location(library, *combine, Location(library, *reduce, Location(kernel, *call)))
    assert maximum.location == expected
