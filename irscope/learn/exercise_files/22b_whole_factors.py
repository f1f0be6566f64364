r"""Multiply fp32 matrices without rounding the factors to tf32.

Tensor cores have no fp32: by default, they keep 10 bits of each factor's mantissa (tf32). Change the product so that it
takes the factors as they are.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, *fp32:16" --config BLOCK=32
"""

import triton
import triton.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    a = tl.load(a_ptr + places)
    b = tl.load(b_ptr + places)
    tl.store(c_ptr + places, tl.dot(a, b))
