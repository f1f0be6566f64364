"""Chooses layouts itself, in Gluon: sums, scans, and products of three generations of tensor cores."""

from __future__ import annotations

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma

from tests.truth.bits.space import Arguments, Data, Space, product, unfused


@gluon.jit
def laid_out_sums(
    x, o, columns,
    RB: gl.constexpr, B: gl.constexpr, ROW_ELEMENTS: gl.constexpr, ELEMENTS: gl.constexpr, LANES: gl.constexpr,
    WARPS: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    """Adds rows in any blocked layout."""
    layout: gl.constexpr = gl.BlockedLayout(
        [ROW_ELEMENTS, ELEMENTS], [32 // LANES, LANES], [num_warps // WARPS, WARPS], [1, 0]
    )
    row = gl.program_id(0) * RB + gl.arange(0, RB, gl.SliceLayout(1, layout))
    column = gl.arange(0, B, gl.SliceLayout(0, layout))
    values = gl.load(x + row[:, None] * columns + column[None, :])
    gl.store(o + row, gl.sum(values * values, 1))


@gluon.jit
def added(a, b):
    """Returns the sum."""
    return a + b


@gluon.jit
def laid_out_scan(x, o, B: gl.constexpr, ELEMENTS: gl.constexpr, num_warps: gl.constexpr):
    """Adds up rows in any blocked layout."""
    layout: gl.constexpr = gl.BlockedLayout([ELEMENTS], [32], [num_warps], [0])
    i = gl.program_id(0) * B + gl.arange(0, B, layout)
    gl.store(o + i, gl.associative_scan(gl.load(x + i), 0, added))


@gluon.jit
def converted_sums(x, o, B: gl.constexpr, FIRST: gl.constexpr, SECOND: gl.constexpr, num_warps: gl.constexpr):
    """Multiplies in one layout and adds in another."""
    one: gl.constexpr = gl.BlockedLayout([FIRST], [32], [num_warps], [0])
    two: gl.constexpr = gl.BlockedLayout([SECOND], [32], [num_warps], [0])
    values = gl.load(x + gl.program_id(0) * B + gl.arange(0, B, one))
    values = gl.convert_layout(values * values + 0.5, two)
    gl.store(o + gl.program_id(0), gl.sum(values * 1.1, 0))


@gluon.jit
def warpgroup_products(
    a, b, c, k,
    BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, N: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    """Multiplies one tile by warp groups, from shared memory."""
    loaded: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [num_warps, 1], [1, 0])
    product_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, N, 16])
    shared_a: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BM, BK], gl.float16)
    shared_b: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BK, BN], gl.float16)
    row, column = gl.arange(0, BM, gl.SliceLayout(1, loaded)), gl.arange(0, BN, gl.SliceLayout(0, loaded))
    depth_a, depth_b = (
        gl.arange(0, BK, gl.SliceLayout(0, loaded)),
        gl.arange(0, BK, gl.SliceLayout(1, loaded)),
    )
    x = gl.allocate_shared_memory(gl.float16, [BM, BK], shared_a)
    y = gl.allocate_shared_memory(gl.float16, [BK, BN], shared_b)
    total = gl.zeros((BM, BN), gl.float32, product_layout)
    for start in range(0, k, BK):
        gl.thread_barrier()
        x.store(gl.load(a + row[:, None] * k + start + depth_a[None, :]))
        y.store(gl.load(b + (start + depth_b)[:, None] * BN + column[None, :]))
        fence_async_shared()
        gl.thread_barrier()
        total = warpgroup_mma(x, y, total)
    out_row = gl.arange(0, BM, gl.SliceLayout(1, product_layout))
    out_column = gl.arange(0, BN, gl.SliceLayout(0, product_layout))
    gl.store(c + out_row[:, None] * BN + out_column[None, :], total)


@gluon.jit
def warp_products(
    a, b, c, k,
    BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, WIDTH: gl.constexpr, WARPS: gl.constexpr,
    num_warps: gl.constexpr,
):  # fmt: skip
    """Multiplies one tile by warps, from registers; the operands' width says which elements meet."""
    loaded: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [num_warps, 1], [1, 0])
    product_layout: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [num_warps // WARPS, WARPS], [16, 8])
    left: gl.constexpr = gl.DotOperandLayout(0, product_layout, WIDTH)
    right: gl.constexpr = gl.DotOperandLayout(1, product_layout, WIDTH)
    row, column = gl.arange(0, BM, gl.SliceLayout(1, loaded)), gl.arange(0, BN, gl.SliceLayout(0, loaded))
    depth_a, depth_b = (
        gl.arange(0, BK, gl.SliceLayout(0, loaded)),
        gl.arange(0, BK, gl.SliceLayout(1, loaded)),
    )
    total = gl.zeros((BM, BN), gl.float32, product_layout)
    for start in range(0, k, BK):
        x = gl.convert_layout(gl.load(a + row[:, None] * k + start + depth_a[None, :]), left)
        y = gl.convert_layout(gl.load(b + (start + depth_b)[:, None] * BN + column[None, :]), right)
        total = mma_v2(x, y, total)
    out_row = gl.arange(0, BM, gl.SliceLayout(1, product_layout))
    out_column = gl.arange(0, BN, gl.SliceLayout(0, product_layout))
    gl.store(c + out_row[:, None] * BN + out_column[None, :], total)


@gluon.jit
def half_of_rows(x, o, columns, row, B: gl.constexpr, layout: gl.constexpr):
    """Adds the squares of every second row."""
    total = gl.zeros((B,), gl.float32, layout)
    for start in range(0, columns, B):
        values = gl.load(x + row * columns + start + gl.arange(0, B, layout))
        total += values * values
    gl.store(o + row, gl.sum(total, 0))


@gluon.jit
def two_partitions(x, o, columns, B: gl.constexpr, OTHERS: gl.constexpr, num_warps: gl.constexpr):
    """Gives the even rows to one partition of warps and the odd ones to another, of another size."""
    default: gl.constexpr = gl.BlockedLayout([2], [32], [num_warps], [0])
    other: gl.constexpr = gl.BlockedLayout([2], [32], [OTHERS], [0])
    row = gl.program_id(0) * 2
    gl.warp_specialize(
        [
            (half_of_rows, (x, o, columns, row, B, default)),
            (half_of_rows, (x, o, columns, row + 1, B, other)),
        ],
        [OTHERS],
        [48],
    )


def _tile(data: Data) -> Arguments:
    a, b = data.normal(64, 256, dtype=torch.float16), data.normal(256, 64, dtype=torch.float16)
    return a, b, data.zeros(64, 64), 256


_WARPS = [1, 2, 4, 8]

SPACES = [
    Space(
        "laid_out_sums",
        laid_out_sums,
        unfused([
            config
            for config in product(160, RB=[8, 16], B=[256], ROW_ELEMENTS=[1, 2], ELEMENTS=[1, 2, 4, 8],
                                  LANES=[1, 4, 16, 32], WARPS=_WARPS, num_warps=[4, 8])
            if config["WARPS"] <= config["num_warps"]
        ][:100]),
        (64, 256),
        lambda data: (data.normal(64, 256), data.zeros(64), 256),
        lambda config: (64 // config["RB"],),
    ),
    Space(
        "laid_out_scan",
        laid_out_scan,
        unfused(product(B=[1024], ELEMENTS=[1, 2, 4, 8, 16], num_warps=_WARPS)),
        (16, 1024),
        lambda data: (data.normal(16, 1024), data.zeros(16, 1024)),
        lambda _config: (16,),
    ),
    Space(
        "converted_sums",
        converted_sums,
        unfused(product(56, B=[1024], FIRST=[1, 2, 4, 8], SECOND=[1, 2, 4, 8], num_warps=_WARPS)),
        (16, 1024),
        lambda data: (data.normal(16, 1024), data.zeros(16)),
        lambda _config: (16,),
    ),
    Space(
        "warpgroup_products",
        warpgroup_products,
        unfused(product(BM=[64], BN=[64], BK=[32, 64, 128], N=[8, 16, 32, 64], num_warps=[4])),
        (64, 64, 256),
        _tile,
        lambda _config: (1,),
    ),
    Space(
        "warp_products",
        warp_products,
        unfused(product(56, BM=[64], BN=[64], BK=[32, 64, 128], WIDTH=[2, 4, 8], WARPS=[1, 2, 4], num_warps=[4, 8])),
        (64, 64, 256),
        _tile,
        lambda _config: (1,),
    ),
    Space(
        "two_partitions",
        two_partitions,
        unfused(product(B=[128, 256, 512], OTHERS=[1, 2, 4], num_warps=[4, 8])),
        (64, 512),
        lambda data: (data.normal(64, 512), data.zeros(64), 512),
        lambda _config: (32,),
    ),
]  # fmt: skip
