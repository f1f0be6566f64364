import triton
import triton.language as tl


@triton.jit
def square_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK_SIZE: tl.constexpr):
    rows = tl.arange(0, BLOCK_SIZE)[:, None] * n + tl.arange(0, BLOCK_SIZE)[None, :]
    c = tl.dot(tl.load(a_ptr + rows), tl.load(b_ptr + rows), input_precision="ieee")
    tl.store(c_ptr + rows, c)
