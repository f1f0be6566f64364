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
        "% = arith.addf %, % : tensor<64x64xf32>",
        "% = arith.addf %, % : tensor<64x64xf16>",
        Change.TYPE,
    ),
    ("mlir", "% = arith.addf %, % : tensor<4xbf16>", "% = arith.addf %, % : tensor<4xf8E5M2>", Change.TYPE),
    ("mlir", "% = tt.load % : tensor<64x!tt.ptr<f32>>", "% = tt.load % : tensor<64xf32>", Change.TYPE),
    (
        "mlir",
        "% = tt.dot %, %, %, inputPrecision = tf32 : tensor<16x16xf32>",
        "% = tt.dot %, %, % : tensor<16x16xf32>",
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        "% = tt.dot %, %, %, inputPrecision = tf32 : tensor<16x16xf32>",
        "% = tt.dot %, %, %, inputPrecision = tf32x3 : tensor<16x16xf32>",
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        "% = tt.load % cacheModifier = ca evictionPolicy = evict_first : tensor<16x!tt.ptr<f32>>",
        "% = tt.load % evictionPolicy = evict_last : tensor<16x!tt.ptr<f32>>",
        Change.ATTRIBUTE,
    ),
    ("mlir", "% = tt.load %, % : !tt.ptr<f32>", "% = tt.load % : !tt.ptr<f32>", Change.OPERANDS),
    (
        "mlir",
        "% = tt.load % #tt.cache_policy : !tt.ptr<f32>",
        "% = tt.load % #tt.cache_policy<evict_last> : !tt.ptr<f32>",
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        "% = tt.atomic_rmw fadd, relaxed, gpu, %, %, % : (!tt.ptr<f32>, f32, i1) -> f32",
        "% = tt.atomic_rmw fadd, acq_rel, cta, %, %, % : (!tt.ptr<f32>, f32, i1) -> f32",
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        "% = ttg.local_alloc : () -> !ttg.memdesc<1x64xf16, #ttg.nvmma_shared, #ttg.shared_memory>",
        "% = ttg.local_alloc : () -> !ttg.memdesc<1x64xf16, #ttg.nvmma_shared, #ttng.tensor_memory>",
        Change.ATTRIBUTE,
    ),
    ("mlir", "% = arith.addf %, % fastmath<fast> : f32", "% = arith.addf %, % : f32", Change.ATTRIBUTE),
    ("mlir", "% = arith.cmpi slt, %, % : i32", "% = arith.cmpi sle, %, % : i32", Change.ATTRIBUTE),
    (
        "mlir",
        "% = arith.constant dense<1> : tensor<4xi32>",
        "% = arith.constant dense<2> : tensor<4xi32>",
        Change.CONSTANT,
    ),
    ("mlir", "% = arith.constant false", "% = arith.constant true", Change.CONSTANT),
    (
        "mlir",
        "tt.func public @f(%: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {",
        "tt.func public @f(%: !tt.ptr<f32>) {",
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        "scf.for % = % to % step % : i32 { } {tt.num_stages = 2 : i32}",
        "scf.for % = % to % step % : i32 { } {tt.num_stages = 3 : i32, tt.loop_unroll_factor = 2 : i32}",
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        "% = tt.load % {loop.cluster = 0 : i32, loop.stage = 0 : i32} : !tt.ptr<f32>",
        "% = tt.load % {loop.cluster = 1 : i32, loop.stage = 2 : i32} : !tt.ptr<f32>",
        Change.ATTRIBUTE,
    ),
    (
        "mlir",
        "% = scf.for % = % to % step % iter_args(% = %) -> (tensor<64xf32>) : i32 { }",
        "% = scf.for % = % to % step % iter_args(% = %, % = %) -> (tensor<64xf32>, tensor<32xi32>) : i32 { }",
        Change.OPERANDS | Change.TYPE,
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
    (
        "mlir",
        "% = arith.truncf % : tensor<64x64xf32> to tensor<64x64xf16>",
        "% = arith.truncf % : f32 to f16",
        Change.TYPE,
    ),
    (
        "mlir",
        "% = arith.constant 0.000000e+00 : f32",
        "% = arith.constant dense<0.000000e+00> : tensor<64xf32>",
        Change.TYPE,
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
