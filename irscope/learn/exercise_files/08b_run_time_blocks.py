r"""Let each program copy as many blocks as the launch says, with 16-byte loads.

The size of a block stays a constant. Add an argument `blocks`, the number of consecutive blocks per program, to
the kernel and to the signature (`i32`), and loop over them. One compilation then serves every amount of work per
program.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" --config BLOCK_SIZE=1024
"""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
