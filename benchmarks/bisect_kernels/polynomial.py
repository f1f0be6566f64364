"""A polynomial in a loop that is unrolled."""

import triton
import triton.language as tl


@triton.jit
def polynomial_kernel(x_ptr, c_ptr, y_ptr, degree, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.zeros((BLOCK,), tl.float32)
    for k in tl.range(0, degree, loop_unroll_factor=8):
        y = y * x + tl.load(c_ptr + k)
    tl.store(y_ptr + i, y)
