r"""Let the compiler reject blocks with fewer than 128 elements, with a message that says so.

The first config below must fail with the text "at least 128", the second must compile.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" --config BLOCK_SIZE=64,128
"""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
