r"""Get rid of the spill.

Keep the block: a row has 32,768 elements. A thread can have 255 registers.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" \
        --config BLOCK_SIZE=32768 --config num_warps=4
"""

import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=float("-inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n_cols + cols, numerator / tl.sum(numerator, axis=0), mask=mask)
