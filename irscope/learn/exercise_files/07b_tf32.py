r"""Use the tensor cores for fp32 inputs.

With full fp32 precision, tl.dot becomes thousands of fma instructions. Which precision can tensor cores do?

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" \
        --config BLOCK_SIZE=64 --config num_warps=4
"""

import triton
import triton.language as tl


@triton.jit
def square_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK_SIZE: tl.constexpr):
    rows = tl.arange(0, BLOCK_SIZE)[:, None] * n + tl.arange(0, BLOCK_SIZE)[None, :]
    c = tl.dot(tl.load(a_ptr + rows), tl.load(b_ptr + rows), input_precision="ieee")
    tl.store(c_ptr + rows, c)
