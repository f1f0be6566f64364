"""Launches kernels whose configs compute the same bits, or not; run by test_bits.py without a GPU."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

TILES = ((64, 64, 32, 4), (128, 64, 64, 4), (64, 128, 64, 8))


@triton.autotune(
    [triton.Config({"BM": m, "BN": n, "BK": k}, num_warps=w, num_stages=2) for m, n, k, w in TILES], key=["M"]
)
@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + ks[None, :])
        right = tl.load(b + ks[:, None] * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


SIZES = ((512, 4), (512, 8), (1024, 4), (1024, 8))


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in SIZES], key=["N"])
@triton.jit
def row_sum(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, N, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + offsets, mask=offsets < N, other=0.0)
        total += tl.sum(values, axis=0)
    tl.store(out + row, total)


@triton.jit
def axpy(x, y, out, n, a, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    left = tl.load(x + offsets, mask=mask)
    result = left * a + tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, result, mask=mask)


@triton.jit
def sum_below(x, out):
    total = 0
    for number in range(tl.load(x)):
        total += number
    tl.store(out, total)


@triton.jit
def shift(source, numbers, out, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    tl.store(out + start + tl.arange(0, BLOCK), source.load([start]) + numbers[0] * numbers[1])


@triton.jit
def add_all(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + offsets)))


if __name__ == "__main__":
    a, b, c = (torch.empty((256, 256), device="cuda", dtype=torch.float16) for _ in range(3))
    matmul[lambda config: (256 // config["BM"], 256 // config["BN"])](a, b, c, 256, 256, 256)
    x, sums = torch.empty((16, 3000), device="cuda"), torch.empty(16, device="cuda")
    row_sum[(16,)](x, sums, 3000)
    u, v, w = (torch.empty(1000, device="cuda") for _ in range(3))
    for fusion in (True, False):
        axpy[(2,)](u, v, w, 1000, 2.5, BLOCK=512, enable_fp_fusion=fusion)
    n = torch.empty(1, device="cuda", dtype=torch.int32)
    sum_below[(1,)](n, n)
    shift[(4,)](TensorDescriptor(torch.empty(1000, device="cuda"), [1000], [1], [256]), (3, 5), w, BLOCK=256)
    for warps in (4, 8):
        add_all[(4,)](torch.empty(1024, device="cuda"), sums, BLOCK=256, num_warps=warps)
