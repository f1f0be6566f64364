"""Launches a kernel per row of the table in docs/commands/bits.md; test_bits_table.py runs it."""

import torch
import triton
import triton.language as tl

SIZE = 128


@triton.jit
def multiply(
    a, b, row_block, column_block, first, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    rows = row_block * BM + tl.arange(0, BM)
    columns = column_block * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for start in range(first, first + K, BK):
        ks = start + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * 128 + ks[None, :])
        right = tl.load(b + ks[:, None] * 128 + columns[None, :])
        total = tl.dot(left, right, total, input_precision=PRECISION, out_dtype=total.dtype)
    return rows[:, None] * 128 + columns[None, :], total


@triton.jit
def tiles(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    places, total = multiply(a, b, tl.program_id(0), tl.program_id(1), 0, K, BM, BN, BK, "tf32")
    tl.store(c + places, total)


@triton.jit
def pipelined(a, b, c, K):
    places, total = multiply(a, b, tl.program_id(0), tl.program_id(1), 0, K, 64, 64, 32, "tf32")
    tl.store(c + places, total)


@triton.autotune([triton.Config({"PRECISION": "tf32"}), triton.Config({"PRECISION": "ieee"})], key=[])
@triton.jit
def precisions(a, b, c, K, PRECISION: tl.constexpr):
    places, total = multiply(a, b, tl.program_id(0), tl.program_id(1), 0, K, 32, 32, 32, PRECISION)
    tl.store(c + places, total)


@triton.jit
def integers(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    places, total = multiply(a, b, tl.program_id(0), tl.program_id(1), 0, K, BM, BN, BK, "tf32")
    tl.store(c + places, total)


@triton.autotune([triton.Config({"COLUMNS_FIRST": False}), triton.Config({"COLUMNS_FIRST": True})], key=[])
@triton.jit
def ordered(a, b, c, K, COLUMNS_FIRST: tl.constexpr):
    number = tl.program_id(0)
    if COLUMNS_FIRST:
        places, total = multiply(a, b, number // 2, number % 2, 0, K, 64, 64, 32, "tf32")
    else:
        places, total = multiply(a, b, number % 2, number // 2, 0, K, 64, 64, 32, "tf32")
    tl.store(c + places, total)


@triton.jit
def split_k(a, b, c, K, SPLIT_K: tl.constexpr):
    length = K // SPLIT_K
    places, total = multiply(
        a, b, tl.program_id(0), tl.program_id(1), tl.program_id(2) * length, length, 64, 64, 32, "tf32"
    )
    tl.atomic_add(c + places, total)


@triton.jit
def split_in_2(a, b, c, K):
    places, total = multiply(
        a, b, tl.program_id(0), tl.program_id(1), tl.program_id(2) * 64, 64, 64, 64, 32, "tf32"
    )
    tl.atomic_add(c + places, total)


@triton.jit
def split_in_4(a, b, c, K):
    places, total = multiply(
        a, b, tl.program_id(0), tl.program_id(1), tl.program_id(2) * 32, 32, 64, 64, 32, "tf32"
    )
    tl.atomic_add(c + places, total)


@triton.autotune(
    [triton.Config({"ACCUMULATOR": tl.float32}), triton.Config({"ACCUMULATOR": tl.float16})], key=[]
)
@triton.jit
def accumulator(a, b, c, ACCUMULATOR: tl.constexpr):
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    left, right = tl.load(a + rows * 128 + columns), tl.load(b + rows * 128 + columns)
    total = tl.dot(left, right, out_dtype=ACCUMULATOR)
    tl.store(c + rows * 128 + columns, total.to(tl.float32))


@triton.jit
def swish(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    tl.store(out + offsets, value * tl.sigmoid(value), mask=offsets < n)


@triton.jit
def multiply_add(x, y, out, n, factor):
    offsets = tl.program_id(0) * 512 + tl.arange(0, 512)
    value = tl.load(x + offsets, mask=offsets < n) * factor
    tl.store(out + offsets, value + tl.load(y + offsets, mask=offsets < n), mask=offsets < n)


@triton.autotune([triton.Config({"ROUNDING": "rtne"}), triton.Config({"ROUNDING": "rtz"})], key=[])
@triton.jit
def cast(x, out, n, ROUNDING: tl.constexpr):
    offsets = tl.program_id(0) * 512 + tl.arange(0, 512)
    value = tl.load(x + offsets, mask=offsets < n)
    tl.store(out + offsets, value.to(tl.float16, fp_downcast_rounding=ROUNDING), mask=offsets < n)


@triton.jit
def row_sum(x, out):
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(x + row * 1024 + tl.arange(0, 1024))))


@triton.jit
def integer_sum(x, out):
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(x + row * 1024 + tl.arange(0, 1024))))


@triton.jit
def row_maximum(x, out):
    row = tl.program_id(0)
    tl.store(out + row, tl.max(tl.load(x + row * 1024 + tl.arange(0, 1024))))


@triton.jit
def looped_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        total += tl.sum(tl.load(x + row * n + start + tl.arange(0, BLOCK)))
    tl.store(out + row, total)


@triton.jit
def online_softmax(x, out, n, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    best = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK_N):
        values = tl.load(x + row * n + start + tl.arange(0, BLOCK_N))
        larger = tl.maximum(best, tl.max(values))
        total = total * tl.exp(best - larger) + tl.sum(tl.exp(values - larger))
        best = larger
    tl.store(out + row, total)


@triton.jit
def layer_norm(x, y, w, b, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + row + start + tl.arange(0, BLOCK))
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        value = tl.load(x + row + start + tl.arange(0, BLOCK)) - mean
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + 1e-5)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        value = (tl.load(x + row + columns) - mean) * scale
        tl.store(y + row + columns, value * tl.load(w + columns) + tl.load(b + columns))


@triton.jit
def scaled(a, b, c, bias, K, factor):
    places, total = multiply(a, b, tl.program_id(0), tl.program_id(1), 0, K, 64, 64, 32, "tf32")
    total = total * factor + tl.load(bias + tl.arange(0, 64))[None, :]
    tl.store(c + places, total)


def launch_products() -> None:
    """Launch the kernels that multiply matrices."""
    half = torch.empty((SIZE, SIZE), device="cuda", dtype=torch.float16)
    single = torch.empty((SIZE, SIZE), device="cuda")
    byte = torch.empty((SIZE, SIZE), device="cuda", dtype=torch.int8)
    number = torch.empty((SIZE, SIZE), device="cuda", dtype=torch.int32)
    for rows, columns, depth in ((64, 64, 32), (64, 128, 64), (128, 64, 128)):
        grid = SIZE // rows, SIZE // columns
        tiles[grid](half, half, single, SIZE, BM=rows, BN=columns, BK=depth)
        integers[grid](byte, byte, number, SIZE, BM=rows, BN=columns, BK=depth)
    for stages in (1, 3):
        pipelined[2, 2](half, half, single, SIZE, num_stages=stages)
    precisions[4, 4](single, single, single, SIZE)
    ordered[(4,)](half, half, single, SIZE)
    accumulator[(1,)](half, half, single)
    for split in (1, 2):
        split_k[2, 2, split](half, half, single, SIZE, SPLIT_K=split)
    for stages, fusion in ((1, True), (3, True), (3, False)):
        scaled[2, 2](half, half, single, single, SIZE, 1.5, num_stages=stages, enable_fp_fusion=fusion)
    for warps in (4, 8):
        split_in_2[2, 2, 2](half, half, single, SIZE, num_warps=warps)
        split_in_4[2, 2, 4](half, half, single, SIZE, num_warps=warps)


def launch_others() -> None:
    """Launch the kernels that work element by element, and those that reduce rows."""
    x, y, z = (torch.empty(8192, device="cuda") for _ in range(3))
    short = torch.empty(1024, device="cuda", dtype=torch.float16)
    whole = torch.empty(8192, device="cuda", dtype=torch.int32)
    for block, warps in ((256, 4), (512, 8), (1024, 4)):
        swish[(triton.cdiv(1000, block),)](x, z, 1000, BLOCK=block, num_warps=warps)
    for fusion in (True, False):
        multiply_add[(2,)](x, y, z, 1000, 2.5, enable_fp_fusion=fusion)
    cast[(2,)](x, short, 1000)
    for warps in (4, 8):
        row_sum[(8,)](x, z, num_warps=warps)
        row_maximum[(8,)](x, z, num_warps=warps)
        integer_sum[(8,)](whole, whole, num_warps=warps)
    for warps, fusion in ((4, True), (8, True), (4, False)):
        layer_norm[(8,)](x, z, y, y, 1024, BLOCK=512, num_warps=warps, enable_fp_fusion=fusion)
    for block in (256, 512):
        looped_sum[(8,)](x, z, 1024, BLOCK=block)
        online_softmax[(8,)](x, z, 1024, BLOCK_N=block)


if __name__ == "__main__":
    launch_products()
    launch_others()
