import triton
import triton.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    a = tl.load(a_ptr + places)
    b = tl.load(b_ptr + places)
    tl.store(c_ptr + places, tl.dot(a, b))
