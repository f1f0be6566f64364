r"""Print only in the first program, and only one value per program instead of one per thread.

tl.device_print of a block prints every element of every thread. Print the number of the program, in program 0 only.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" --config BLOCK_SIZE=1024
"""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.device_print("offset", offsets)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
