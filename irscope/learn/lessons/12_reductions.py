"""Row sums, block by block, that reduce in each iteration or once at the end; and sums of a tile."""

import triton
import triton.language as tl


@triton.jit
def eager_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    total = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_ptr + row * n_cols + start + cols, mask=start + cols < n_cols, other=0.0)
        total += tl.sum(x, axis=0)
    tl.store(out_ptr + row, total)


@triton.jit
def late_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    total = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_ptr + row * n_cols + start + cols, mask=start + cols < n_cols, other=0.0)
        total += x
    tl.store(out_ptr + row, tl.sum(total, axis=0))


@triton.jit
def tile_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, AXIS: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :])
    total = tl.sum(x, axis=AXIS)
    if AXIS == 1:
        tl.store(out_ptr + rows, total)
    else:
        tl.store(out_ptr + tl.program_id(0) * n_cols + cols, total)
