"""Multiplies matrices: input precisions, accumulators, 8-bit types, split-K, chained and batched products."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.bits.space import Arguments, Config, Data, Grid, Space, cdiv, product, unfused


@triton.jit
def gemm(
    a, b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Multiplies row-major matrices; sizes need not be multiples of the blocks."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(
            a + rows[:, None] * k + depth[None, :], mask=(rows[:, None] < m) & (depth[None, :] < k), other=0
        )
        y = tl.load(
            b + depth[:, None] * n + columns[None, :],
            mask=(depth[:, None] < k) & (columns[None, :] < n),
            other=0,
        )
        total = tl.dot(x, y, total, input_precision=PRECISION)
    place = c + rows[:, None] * n + columns[None, :]
    tl.store(place, total.to(c.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def gemm_bias(
    a, b, bias, c, m, n, k, alpha,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TRANSPOSED: tl.constexpr,
):  # fmt: skip
    """Multiplies, scales, adds a bias and applies a leaky ReLU."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        if TRANSPOSED:
            y = tl.load(b + columns[:, None] * k + depth[None, :]).T
        else:
            y = tl.load(b + columns[None, :] * k + depth[:, None])
        total += tl.dot(x, y)
    total = total * alpha + tl.load(bias + columns)[None, :].to(tl.float32)
    total = tl.where(total > 0, total, 0.01 * total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def gemm_fp8(
    a, b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, IMPRECISE: tl.constexpr,
):  # fmt: skip
    """Multiplies 8-bit floats, whose sums in tensor cores have fewer bits, so many steps before an addition."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        y = tl.load(b + columns[None, :] * k + depth[:, None])
        total = tl.dot(x, y, total, max_num_imprecise_acc=IMPRECISE)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def gemm_w8a8(
    a, b, scale_a, scale_b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Multiplies int8 matrices with a scale per row and per column."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.int32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        y = tl.load(b + columns[None, :] * k + depth[:, None])
        total = tl.dot(x, y, total, out_dtype=tl.int32)
    scaled = total.to(tl.float32) * tl.load(scale_a + rows)[:, None] * tl.load(scale_b + columns)[None, :]
    tl.store(c + rows[:, None] * n + columns[None, :], scaled.to(tl.bfloat16))


@triton.jit
def gemm_w8_groups(
    a, b, scales, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, LATE: tl.constexpr,
):  # fmt: skip
    """Multiplies bf16 by int8 weights with a scale per group of K, before the product or after it."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        y = tl.load(b + depth[:, None] * n + columns[None, :]).to(tl.bfloat16)
        if LATE:
            scale = tl.load(scales + (start // GROUP) * n + columns)
            total += tl.dot(x, y) * scale[None, :]
        else:
            scale = tl.load(scales + (depth // GROUP)[:, None] * n + columns[None, :])
            total = tl.dot(x, (y * scale).to(tl.bfloat16), total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def gemm_half_sums(
    a, b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Multiplies fp16 and adds in fp16."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float16)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        y = tl.load(b + depth[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total, out_dtype=tl.float16)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def gemm_chain(
    a, b, c, o, m, k, n,
    BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr, P: tl.constexpr, ROUND: tl.constexpr,
):  # fmt: skip
    """Computes (a @ b) @ c block by block of the inner size, without or with rounding between."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    outer = tl.arange(0, P)
    total = tl.zeros((BM, P), tl.float32)
    for start in range(0, n, BN):
        columns = start + tl.arange(0, BN)
        inner = tl.zeros((BM, BN), tl.float32)
        for first in range(0, k, BK):
            depth = first + tl.arange(0, BK)
            x = tl.load(a + rows[:, None] * k + depth[None, :])
            y = tl.load(b + depth[:, None] * n + columns[None, :])
            inner = tl.dot(x, y, inner)
        z = tl.load(c + columns[:, None] * P + outer[None, :])
        if ROUND:
            total = tl.dot(inner.to(tl.float16), z, total)
        else:
            total = tl.dot(inner, z.to(tl.float32), total)
    tl.store(o + rows[:, None] * P + outer[None, :], total)


@triton.jit
def gemm_split_parts(
    a, b, parts, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """Writes the product of each contiguous part of K to its own buffer."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    size = tl.cdiv(k, SPLIT)
    end = min(k, (part + 1) * size)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(part * size, end, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :], mask=depth[None, :] < end, other=0)
        y = tl.load(b + depth[:, None] * n + columns[None, :], mask=depth[:, None] < end, other=0)
        total = tl.dot(x, y, total)
    tl.store(parts + part * m * n + rows[:, None] * n + columns[None, :], total)


@triton.jit
def gemm_split_add(
    a, b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr, SEM: tl.constexpr,
):  # fmt: skip
    """Adds the products of the parts of K with atomics, to what the output has."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    size = k // SPLIT
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(part * size, (part + 1) * size, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        y = tl.load(b + depth[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total)
    tl.atomic_add(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty), sem=SEM)


@triton.jit
def gemm_split_turns(
    a, b, c, turns, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """Adds the products of the parts of K in order: each part waits for its turn."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    size = k // SPLIT
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(part * size, (part + 1) * size, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        y = tl.load(b + depth[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total)
    turn = turns + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    while tl.atomic_add(turn, 0, sem="acquire") != part:
        pass
    place = c + rows[:, None] * n + columns[None, :]
    tl.store(place, tl.load(place) + total)
    tl.debug_barrier()
    tl.atomic_xchg(turn, (part + 1) % SPLIT, sem="release")


@triton.jit
def gemm_accumulate(
    a, b, c, m, n, k, beta,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FIRST: tl.constexpr,
):  # fmt: skip
    """Computes c = beta * c + a @ b in place: the old values first, or last."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    place = c + rows[:, None] * n + columns[None, :]
    old = tl.load(place) * beta
    total = old if FIRST else tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        y = tl.load(b + depth[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(place, total if FIRST else total + old)


@triton.jit
def batched_dot(
    a, b, c, n, k,
    BB: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Multiplies stacks of matrices with products of three dimensions."""
    batch = tl.program_id(0) * BB + tl.arange(0, BB)
    rows = tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BB, BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + batch[:, None, None] * BM * k + rows[None, :, None] * k + depth[None, None, :])
        y = tl.load(b + batch[:, None, None] * k * n + depth[None, :, None] * n + columns[None, None, :])
        total = tl.dot(x, y, total, input_precision=PRECISION)
    tl.store(c + batch[:, None, None] * BM * n + rows[None, :, None] * n + columns[None, None, :], total)


@triton.jit
def gemm_blocks(
    a, b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Multiplies through block pointers with checks of the bounds."""
    x = tl.make_block_ptr(a, (m, k), (k, 1), (tl.program_id(0) * BM, 0), (BM, BK), (1, 0))
    y = tl.make_block_ptr(b, (k, n), (n, 1), (0, tl.program_id(1) * BN), (BK, BN), (1, 0))
    z = tl.make_block_ptr(c, (m, n), (n, 1), (tl.program_id(0) * BM, tl.program_id(1) * BN), (BM, BN), (1, 0))
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, k, BK):
        total = tl.dot(
            tl.load(x, boundary_check=(0, 1), padding_option="zero"),
            tl.load(y, boundary_check=(0, 1), padding_option="zero"),
            total,
        )
        x = tl.advance(x, (0, BK))
        y = tl.advance(y, (BK, 0))
    tl.store(z, total.to(c.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def grouped_experts(
    a, w, order, experts, c, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Multiplies each 64 sorted tokens by the weights of their expert, and scatters the rows."""
    first = tl.program_id(0) * BM
    expert = tl.load(experts + first // 64)
    tokens = tl.load(order + first + tl.arange(0, BM))
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        x = tl.load(a + tokens[:, None] * k + depth[None, :])
        y = tl.load(w + expert * k * n + depth[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + tokens[:, None] * n + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def gemm_microscaled(
    a, scale_a, b, scale_b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Multiplies 8-bit floats with a power of two per 32 elements of K."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        groups = start // 32 + tl.arange(0, BK // 32)
        x = tl.load(a + rows[:, None] * k + depth[None, :])
        y = tl.load(b + columns[None, :] * k + depth[:, None])
        p = tl.load(scale_a + rows[:, None] * (k // 32) + groups[None, :])
        q = tl.load(scale_b + columns[:, None] * (k // 32) + groups[None, :])
        total = tl.dot_scaled(x, p, "e4m3", y, q, "e4m3", total, fast_math=FAST)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


def _tiles(m: int, n: int) -> object:
    return lambda config: (cdiv(m, config["BM"]), cdiv(n, config["BN"]))


def _operands(m: int, n: int, k: int, dtype: torch.dtype, out: torch.dtype) -> object:
    def make(data: Data) -> Arguments:
        return (
            data.normal(m, k, dtype=dtype),
            data.normal(k, n, dtype=dtype),
            data.zeros(m, n, dtype=out),
            m,
            n,
            k,
        )

    return make


def _bias(data: Data) -> Arguments:
    a, b = data.normal(256, 512, dtype=torch.bfloat16), data.normal(384, 512, dtype=torch.bfloat16)
    return (
        a,
        b,
        data.normal(384, dtype=torch.bfloat16),
        data.zeros(256, 384, dtype=torch.bfloat16),
        256,
        384,
        512,
        0.3,
    )


def _fp8(first: torch.dtype, second: torch.dtype) -> object:
    def make(data: Data) -> Arguments:
        a, b = data.normal(128, 1024, dtype=first), data.normal(128, 1024, dtype=second)
        return a, b, data.zeros(128, 128), 128, 128, 1024

    return make


def _w8a8(data: Data) -> Arguments:
    a, b = (data.integers(-127, 128, size, 512, dtype=torch.int8) for size in (128, 256))
    scales = data.uniform(128, low=0.001, high=0.01), data.uniform(256, low=0.001, high=0.01)
    return a, b, *scales, data.zeros(128, 256, dtype=torch.bfloat16), 128, 256, 512


def _w8_groups(data: Data) -> Arguments:
    a, b = data.normal(128, 512, dtype=torch.bfloat16), data.integers(-127, 128, 512, 256, dtype=torch.int8)
    scales = data.uniform(4, 256, low=0.001, high=0.01)
    return a, b, scales, data.zeros(128, 256, dtype=torch.bfloat16), 128, 256, 512


def _chain(data: Data) -> Arguments:
    a, b, c = (data.normal(*shape, dtype=torch.float16) for shape in ((128, 128), (128, 256), (256, 64)))
    return a, b, c, data.zeros(128, 64), 128, 128, 256


def _parts(data: Data) -> Arguments:
    a, b = data.normal(64, 1000, dtype=torch.float16), data.normal(1000, 64, dtype=torch.float16)
    return a, b, data.zeros(8, 64, 64), 64, 64, 1000


def _turns(data: Data) -> Arguments:
    a, b = data.normal(64, 2048, dtype=torch.bfloat16), data.normal(2048, 64, dtype=torch.bfloat16)
    return a, b, data.zeros(64, 64), data.zeros(16, dtype=torch.int32), 64, 64, 2048


def _accumulate(data: Data) -> Arguments:
    a, b = data.normal(128, 256, dtype=torch.float16), data.normal(256, 128, dtype=torch.float16)
    return a, b, data.normal(128, 128), 128, 128, 256, 0.7


def _batched(data: Data) -> Arguments:
    return data.normal(16, 16, 128), data.normal(16, 128, 64), data.zeros(16, 16, 64), 64, 128


def _experts(data: Data) -> Arguments:
    a, w = data.normal(512, 256, dtype=torch.bfloat16), data.normal(8, 256, 128, dtype=torch.bfloat16)
    experts = data.integers(0, 8, 8)
    return a, w, data.order(512), experts, data.zeros(512, 128, dtype=torch.bfloat16), 128, 256


def _microscaled(data: Data) -> Arguments:
    a, b = (data.normal(128, 512, dtype=torch.float8_e4m3fn) for _ in range(2))
    p, q = (data.integers(123, 132, 128, 16, dtype=torch.uint8) for _ in range(2))
    return a, p, b, q, data.zeros(128, 128), 128, 128, 512


def _split_grid(config: Config) -> Grid:
    return 64 // config["BM"], 64 // config["BN"], config["SPLIT"]


_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_FP8 = [
    config
    for config in product(
        80, BM=[32, 64, 128], BN=[32, 64, 128], BK=[64, 128], IMPRECISE=[None, 0, 32, 64, 128], num_warps=[4, 8],
        num_stages=[2, 3],
    )
    if config["IMPRECISE"] is None or config["IMPRECISE"] <= config["BK"]
]  # fmt: skip
_SMALL = {
    "BM": [16, 32, 64],
    "BN": [16, 32, 64],
    "BK": [16, 32, 64],
    "num_warps": [1, 2, 4, 8],
    "num_stages": [1, 3],
}
_LARGE = {"BM": [64, 128], "BN": [32, 64, 128], "BK": [32, 64], "num_warps": [4, 8], "num_stages": [2, 3, 4]}

SPACES = [
    Space(
        "gemm_f32",
        gemm,
        unfused(
            [
                config
                for precision in _PRECISIONS
                for config in product(20, PRECISION=[precision], **{**_SMALL, "BK": [16, 32]})
            ]
        ),
        (96, 96, 200),
        _operands(96, 96, 200, torch.float32, torch.float32),
        _tiles(96, 96),
    ),
    Space(
        "gemm_tf32",
        gemm,
        unfused(product(56, PRECISION=["tf32"], **_LARGE)),
        (256, 256, 512),
        _operands(256, 256, 512, torch.float32, torch.float32),
        _tiles(256, 256),
    ),
    Space(
        "gemm_tf32x3",
        gemm,
        unfused(product(32, PRECISION=["tf32x3", "bf16x3"], **_LARGE | {"BN": [32, 64]})),
        (256, 256, 512),
        _operands(256, 256, 512, torch.float32, torch.float32),
        _tiles(256, 256),
    ),
    Space(
        "gemm_special",
        gemm,
        unfused(product(48, PRECISION=["ieee"], **_SMALL)),
        (96, 96, 200),
        lambda data: (
            data.special(96, 200, dtype=torch.float16, one_in=2000),
            data.special(200, 96, dtype=torch.float16, one_in=2000),
            data.zeros(96, 96),
            96,
            96,
            200,
        ),
        _tiles(96, 96),
    ),
    Space(
        "gemm_f32_special",
        gemm,
        unfused(product(48, PRECISION=["tf32", "tf32x3", "ieee", "bf16x3"], **_SMALL | {"BK": [16, 32]})),
        (96, 96, 200),
        lambda data: (
            data.special(96, 200, one_in=2000),
            data.special(200, 96, one_in=2000),
            data.zeros(96, 96),
            96,
            96,
            200,
        ),
        _tiles(96, 96),
    ),
    Space(
        "gemm_bf16_out",
        gemm,
        unfused(product(64, PRECISION=["ieee"], **_SMALL | {"BM": [16, 32, 64, 128], "BK": [16, 32, 64, 128]})),
        (200, 160, 392),
        _operands(200, 160, 392, torch.bfloat16, torch.bfloat16),
        _tiles(200, 160),
    ),
    Space(
        "gemm_bias",
        gemm_bias,
        unfused(product(64, TRANSPOSED=[False, True], **_LARGE | {"maxnreg": [None, 128]})),
        (256, 384, 512),
        _bias,
        _tiles(256, 384),
    ),
    Space(
        "gemm_e4m3",
        gemm_fp8,
        unfused(_FP8),
        (128, 128, 1024),
        _fp8(torch.float8_e4m3fn, torch.float8_e4m3fn),
        _tiles(128, 128),
    ),
    Space(
        "gemm_e5m2",
        gemm_fp8,
        unfused(_FP8[:40]),
        (128, 128, 1024),
        _fp8(torch.float8_e5m2, torch.float8_e5m2),
        _tiles(128, 128),
    ),
    Space(
        "gemm_w8a8",
        gemm_w8a8,
        unfused(product(56, **_SMALL | {"BM": [16, 32, 64, 128], "BK": [32, 64, 128]})),
        (128, 256, 512),
        _w8a8,
        _tiles(128, 256),
    ),
    Space(
        "gemm_w8_groups",
        gemm_w8_groups,
        unfused(product(64, LATE=[False, True], GROUP=[128], **_SMALL | {"BM": [16, 64, 128], "BK": [32, 64, 128]})),
        (128, 256, 512),
        _w8_groups,
        _tiles(128, 256),
    ),
    Space(
        "gemm_half_sums",
        gemm_half_sums,
        unfused(product(56, **_SMALL | {"BM": [16, 32, 64, 128], "BK": [16, 32, 64]})),
        (128, 128, 512),
        _operands(128, 128, 512, torch.float16, torch.float16),
        _tiles(128, 128),
    ),
    Space(
        "gemm_chain",
        gemm_chain,
        unfused(
            product(64, BM=[16, 32, 64, 128], BK=[32, 64], BN=[16, 32, 64, 128], P=[64], ROUND=[True, False],
                    num_warps=[4, 8], num_stages=[1, 2])
        ),
        (128, 128, 256),
        _chain,
        lambda config: (128 // config["BM"],),
    ),
    Space(
        "gemm_split_parts",
        gemm_split_parts,
        unfused(product(72, SPLIT=[1, 2, 3, 4, 8], **_SMALL)),
        (64, 64, 1000),
        _parts,
        _split_grid,
    ),
    Space(
        "gemm_split_add",
        gemm_split_add,
        unfused(product(64, SPLIT=[1, 2, 4, 8], SEM=["relaxed", "acq_rel"], **_SMALL)),
        (64, 64, 1024),
        _operands(64, 64, 1024, torch.float16, torch.float32),
        _split_grid,
    ),
    Space(
        "gemm_split_half",
        gemm_split_add,
        unfused(product(48, SPLIT=[1, 2, 4], SEM=["relaxed"], **_SMALL)),
        (64, 64, 1024),
        _operands(64, 64, 1024, torch.float16, torch.float16),
        _split_grid,
    ),
    Space(
        "gemm_split_turns",
        gemm_split_turns,
        unfused(product(64, SPLIT=[1, 2, 4, 8], **_SMALL | {"BM": [32, 64], "BN": [32, 64]})),
        (64, 64, 2048),
        _turns,
        _split_grid,
    ),
    Space(
        "gemm_accumulate",
        gemm_accumulate,
        unfused(product(64, FIRST=[False, True], **_SMALL)),
        (128, 128, 256),
        _accumulate,
        _tiles(128, 128),
    ),
    Space(
        "batched_dot",
        batched_dot,
        unfused(
            product(64, BB=[1, 2, 4], BM=[16], BN=[16, 32, 64], BK=[16, 32], PRECISION=["tf32", "ieee"],
                    num_warps=[1, 2, 4, 8], num_stages=[1, 3])
        ),
        (16, 16, 64, 128),
        _batched,
        lambda config: (16 // config["BB"], 64 // config["BN"]),
    ),
    Space(
        "gemm_blocks",
        gemm_blocks,
        unfused(product(56, **_SMALL | {"BM": [32, 64, 128]})),
        (200, 152, 296),
        _operands(200, 152, 296, torch.float16, torch.float16),
        _tiles(200, 152),
    ),
    Space(
        "grouped_experts",
        grouped_experts,
        unfused(product(64, **_SMALL)),
        (512, 128, 256),
        _experts,
        _tiles(512, 128),
    ),
    Space(
        "gemm_microscaled",
        gemm_microscaled,
        unfused(
            product(40, BM=[32, 64, 128], BN=[32, 64, 128], BK=[32, 64, 128], FAST=[False, True], num_warps=[4, 8],
                    num_stages=[1, 2])
        ),
        (128, 128, 512),
        _microscaled,
        _tiles(128, 128),
    ),
]  # fmt: skip
