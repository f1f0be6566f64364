r"""Make the loads 16 bytes wide.

The kernel reads every element of a vector, but was written for any stride. The JIT compiles the value 1 into
the code, if the argument is 1 at launch. How does a signature say that?

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16, i32:16" --config BLOCK_SIZE=1024
"""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, stride, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride, mask=mask)
    tl.store(out_ptr + offsets, x, mask=mask)
