r"""Let the two values of DEBUG give the same machine code, and still print the block size.

The message is about a constant, so the compiler can print it. Then DEBUG costs a compilation, but nothing at run
time.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" \
        --config BLOCK_SIZE=1024 --config DEBUG=False,True
"""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr, DEBUG: tl.constexpr):
    if DEBUG:
        tl.device_print("block size", BLOCK_SIZE)
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
