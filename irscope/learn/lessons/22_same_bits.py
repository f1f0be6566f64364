"""A sum of a row, block by block, and a line that multiplies and adds."""

import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    total = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_ptr + row * n_cols + start + cols, mask=start + cols < n_cols, other=0.0)
        total += tl.sum(x, axis=0)
    tl.store(out_ptr + row, total)


@triton.jit
def scale_add_kernel(x_ptr, y_ptr, out_ptr, n, factor, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    scaled = tl.load(x_ptr + offsets, mask=mask) * factor
    tl.store(out_ptr + offsets, scaled + tl.load(y_ptr + offsets, mask=mask), mask=mask)
