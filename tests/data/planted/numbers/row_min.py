import torch
import triton
import triton.language as tl


@triton.jit
def row_min(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)  # bug: padding-reduced -> x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("inf"))
    tl.store(out_ptr + row, tl.min(x, axis=0))
