import torch
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    part = tl.sum(x.to(tl.float16), axis=0)  # bug: half-accumulator -> part = tl.sum(x.to(tl.float32), axis=0)
    tl.store(out_ptr + tl.program_id(0), part)
