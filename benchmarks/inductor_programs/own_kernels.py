"""Triton kernels of the program inside of torch.compile, one of them autotuned."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b in (256, 1024) for w in (2, 4)], key=["n"])
@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n) * 3, mask=offsets < n)


@torch.compile(fullgraph=True)
def run(x, y):
    summed, scaled = torch.empty_like(x), torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 512),)](x, y.sin(), summed, x.numel(), BLOCK=512)
    scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](summed, scaled, x.numel())
    return scaled.relu().sum(-1)


x = torch.randn(256, 1000, device="cuda")
run(x, x)
