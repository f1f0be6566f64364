"""Kernels whose parameters have the names of launch options."""

import triton
import triton.language as tl


@triton.jit
def options(x, n, BLOCK: tl.constexpr, num_warps: tl.constexpr = 4, num_stages: tl.constexpr = 3):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for step in range(num_stages):
        tl.store(x + offsets, tl.load(x + offsets) * num_warps + step, mask=offsets < n)


if __name__ == "__main__":
    import torch

    x = torch.zeros(1024, device="cuda")
    options[(1,)](x, 1024, BLOCK=256)
    options[(1,)](x, 1024, BLOCK=256, num_warps=8, num_stages=2)
    options[(1,)](x, 1024, 256, 2)
