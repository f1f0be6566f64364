"""A matmul whose tile, types and precision determine which instruction multiplies."""

import triton
import triton.language as tl


@triton.jit
def multiply(a, b, accumulator, PRECISION: tl.constexpr):
    return tl.dot(a, b, accumulator, input_precision=PRECISION)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    rows, columns, inner = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * k + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * BLOCK_N + columns[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, k, BLOCK_K):
        total = multiply(tl.load(a_ptrs), tl.load(b_ptrs), total, PRECISION)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * BLOCK_N
    tl.store(c_ptr + rows[:, None] * BLOCK_N + columns[None, :], total)


@triton.jit
def scaled_matmul(
    a_ptr, b_ptr, a_scales, b_scales, c_ptr, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows, columns, inner = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    groups = tl.arange(0, BLOCK_K // 32)
    a = tl.load(a_ptr + rows[:, None] * k + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * BLOCK_N + columns[None, :])
    a_scale = tl.load(a_scales + rows[:, None] * (k // 32) + groups[None, :])
    b_scale = tl.load(b_scales + columns[:, None] * (k // 32) + groups[None, :])
    total = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3")
    tl.store(c_ptr + rows[:, None] * BLOCK_N + columns[None, :], total)
