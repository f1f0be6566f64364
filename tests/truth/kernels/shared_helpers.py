"""Functions that kernels in other files call."""

import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def silu(x):
    scaled = sigmoid(x)
    return x * scaled


@triton.jit
def swizzled_tile(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    rows = tl.cdiv(M, BLOCK_M)
    columns = tl.cdiv(N, BLOCK_N)
    in_group = GROUP * columns
    group = pid // in_group
    first = group * GROUP
    size = min(rows - first, GROUP)
    return first + (pid % in_group) % size, (pid % in_group) // size


@triton.jit
def row_pointers(base, rows, columns, stride):
    return base + rows[:, None] * stride + columns[None, :]
