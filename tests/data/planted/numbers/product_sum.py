import torch
import triton
import triton.language as tl


@triton.jit
def rms(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, cols < n)  # bug: padding-reduced -> x = tl.load(x_ptr + row * n + cols, cols < n, 0.0)
        total += tl.sum(x * x)
    tl.store(out_ptr + row, tl.sqrt(total / n))
