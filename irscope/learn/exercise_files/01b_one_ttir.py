r"""Compile two variants with the same TTIR, but with different numbers of threads.

Change only the command below. TTIR has the shapes of blocks, but nothing about threads.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" \
        --config BLOCK_SIZE=512,1024 --config num_warps=4
"""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)
