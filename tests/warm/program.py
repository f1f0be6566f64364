"""A program with an autotuned kernel and a plain one, launched with three specializations of n."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b in (128, 256) for w in (2, 4)], key=["n"])
@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n) * factor, i < n)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


x = torch.zeros(1000, device="cuda")
y, out = torch.empty_like(x), torch.empty_like(x)
for n in (1000, 992, 1):
    scale[lambda meta, n=n: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, 2.0)
    add[(4,)](x, y, out, n, BLOCK=256)
print("done")
