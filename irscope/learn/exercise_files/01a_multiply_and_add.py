r"""Make the kernel compute 2 * x + y, in one instruction per element.

TTIR has a multiplication and an addition. Look for what PTX has.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --config BLOCK_SIZE=1024
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
