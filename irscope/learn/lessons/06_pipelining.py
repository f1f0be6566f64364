"""Row sums, block by block: a loop that can be unrolled, and one that runs in the compiler."""

import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr, UNROLL: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    total = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE, loop_unroll_factor=UNROLL):
        total += tl.load(x_ptr + row * n_cols + start + cols, mask=start + cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


@triton.jit
def static_row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr, BLOCKS: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    total = tl.zeros((BLOCK_SIZE,), tl.float32)
    for block in tl.static_range(BLOCKS):
        offsets = block * BLOCK_SIZE + cols
        total += tl.load(x_ptr + row * n_cols + offsets, mask=offsets < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))
