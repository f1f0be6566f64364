import torch
import triton
import triton.language as tl


@triton.jit
def mean_ratio(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    w = tl.load(w_ptr + at, mask=inside, other=0.0)  # bug: padding-reduced -> w = tl.load(w_ptr + at, mask=inside, other=1.0)
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    inverse = 1.0 / w
    tl.atomic_add(out_ptr, tl.sum(x * inverse) / n)
