r"""Sum a row without shared memory.

The warps of a block exchange their partial sums in shared memory; the threads of a warp exchange theirs with
shuffles. Change only the command.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" \
        --config BLOCK_SIZE=1024 --config num_warps=4
"""

import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))
