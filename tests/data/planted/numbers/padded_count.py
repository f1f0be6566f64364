import torch
import triton
import triton.language as tl


@triton.jit
def bce_loss(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)  # bug: padding-reduced -> x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = tl.load(y_ptr + at, mask=at < n, other=0.0)
    loss = tl.log(1.0 + tl.exp(x)) - x * y  # bug: padding-reduced -> loss = tl.where(at < n, tl.log(1.0 + tl.exp(x)) - x * y, 0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(loss, axis=0))
