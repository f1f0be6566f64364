import torch
import triton
import triton.language as tl


@triton.jit
def entropy(p_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    p = tl.load(p_ptr + row * n + cols, mask=cols < n, other=0.0)  # bug: padding-reduced -> p = tl.load(p_ptr + row * n + cols, mask=cols < n, other=1.0)
    tl.store(out_ptr + row, -tl.sum(p * tl.log(p), axis=0))
