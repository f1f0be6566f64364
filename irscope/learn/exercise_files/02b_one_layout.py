r"""Choose two different block sizes that get the same layout.

The layouts below differ: sizePerThread is 1 and 2. A layout is repeated if the block is larger than what it
covers, so from some size on, it stays the same.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" \
        --config BLOCK_SIZE=128,256 --config num_warps=4
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
