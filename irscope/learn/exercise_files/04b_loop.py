r"""Sum rows of any length with a block of 1,024 elements.

Now, a program loads a whole row at once. Rows of another length need another block size, and another compilation.
Let the program loop over the row instead, and add up before it reduces.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" \
        --config BLOCK_SIZE=16384 --config num_warps=4
"""

import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))
