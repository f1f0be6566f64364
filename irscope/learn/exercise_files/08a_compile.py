r"""Make this kernel compile, with 16-byte loads.

It asks for the block size at run time. Shapes of blocks are part of types, which are fixed at compile time.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16, i32:16"
"""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, block_size):
    offsets = tl.program_id(0) * block_size + tl.arange(0, block_size)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
