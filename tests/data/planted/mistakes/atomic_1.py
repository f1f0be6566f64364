import torch
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), axis=0)
    tl.store(sum_ptr, tl.load(sum_ptr) + part)  # bug: accumulation-not-atomic -> tl.atomic_add(sum_ptr, part)


def sum_all(x):
    out = torch.zeros(1, device=x.device)
    total[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out
