import torch
import triton
import triton.language as tl


@triton.jit
def dropout(x_ptr, out_ptr, n, seed: tl.constexpr, p, BLOCK: tl.constexpr):  # bug: constexpr-size -> def dropout(x_ptr, out_ptr, n, seed, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    keep = tl.rand(seed, at) > p
    tl.store(out_ptr + at, tl.where(keep, x / (1 - p), 0.0), mask=at < n)


def launch(x, p):
    out = torch.empty_like(x)
    for step in range(1000):
        dropout[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), step, p, BLOCK=1024)
    return out
