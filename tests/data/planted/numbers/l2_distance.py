import torch
import triton
import triton.language as tl


@triton.jit
def distance(x_ptr, centers_ptr, out_ptr, D, scale, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + pid * D + d, mask=d < D, other=0.0)
    c = tl.load(centers_ptr + d, mask=d < D, other=1.0)  # bug: padding-reduced -> c = tl.load(centers_ptr + d, mask=d < D, other=0.0)
    delta = (x - c) * (x - c)
    tl.store(out_ptr + pid, tl.sum(delta, axis=0) * scale)
