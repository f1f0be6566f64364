"""Each way in which a pair can differ, on normalized texts."""

import pytest

from irscope.diff.classify import classify
from irscope.diff.rows import Change

CASES = [
    (
        "mlir",
        "% = tt.splat % : i32 -> tensor<64xi32>",
        "% = tt.splat % : i32 -> tensor<128xi32>",
        Change.SHAPE,
    ),
    ("mlir", "% = arith.constant 31 : i32", "% = arith.constant 63 : i32", Change.CONSTANT),
    (
        "mlir",
        "% = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>",
        "% = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>",
        Change.SHAPE,
    ),
    (
        "mlir",
        "% = ttg.async_wait % {num = 2 : i32}",
        "% = ttg.async_wait % {num = 4 : i32}",
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        'module attributes {"ttg.num-warps" = 4 : i32} {',
        'module attributes {"ttg.num-warps" = 8 : i32} {',
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        "% = tt.load % : tensor<64x!tt.ptr<f16>, #ttg.blocked>",
        "% = tt.load % : tensor<64x!tt.ptr<f32>, #ttg.blocked>",
        Change.TYPE,
    ),
    (
        "mlir",
        "% = ttg.convert_layout % : tensor<64xf16, #ttg.nvidia_mma> -> tensor<64xf16, #ttg.blocked>",
        "% = ttg.convert_layout % : tensor<64xf16, #ttg.nvidia_mma> -> tensor<64xf16, #ttg.linear>",
        Change.LAYOUT,
    ),
    (
        "mlir",
        "% = tt.splat % : i32 -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #ttg.blocked}>>",
        "% = tt.splat % : i32 -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #ttg.blocked}>>",
        Change.LAYOUT,
    ),
    (
        "mlir",
        "% = tt.call @m.cdiv__i32_c128(%) : (i32) -> i32",
        "% = tt.call @m.cdiv__i32_c64(%) : (i32) -> i32",
        Change.CONSTANT,
    ),
    ("llvm", "% = add i32 %, 127", "% = add i32 %, 63", Change.CONSTANT),
    ("llvm", "% = fadd <4 x float> %, %", "% = fadd <8 x float> %, %", Change.SHAPE),
    ("llvm", "% = load i32, ptr %, align 4", "% = load i32, ptr %, align 16", Change.ATTRIBUTE),
    ("llvm", "% = add nsw i32 %, %", "% = add nsw i64 %, %", Change.TYPE),
    ("llvm", "% = add nsw i32 %, %", "% = add nuw i32 %, %", Change.ATTRIBUTE),
    ("ptx", "add.s32 %r, %r, 127;", "add.s32 %r, %r, 63;", Change.CONSTANT),
    ("ptx", "add.s32 %r, %r, %r;", "add.s32 %r, %r, 8;", Change.CONSTANT | Change.OPERANDS),
    ("sass", "IMAD R, RZ, RZ, c[0x0][0x28] ;", "IMAD R, RZ, RZ, c[0x0][0x2c] ;", Change.CONSTANT),
    ("amdgcn", "v_add_u32_e32 v, 64, v", "v_add_u32_e32 v, 32, v", Change.CONSTANT),
]


@pytest.mark.parametrize(("language", "left", "right", "change"), CASES)
def test_classify(language: str, left: str, right: str, change: Change) -> None:
    assert classify(left, right, language) == change
    assert classify(right, left, language) == change
    assert classify(left, left, language) == Change.EQUAL


def test_unclosed_brackets_end() -> None:
    assert classify("#a<" + "<" * 50_000, "#a<" + "<" * 49_999, "mlir") == Change.LAYOUT
    assert classify('"' + "\\" * 50_000, '"' + "\\" * 49_999, "mlir") == Change.ATTRIBUTE
