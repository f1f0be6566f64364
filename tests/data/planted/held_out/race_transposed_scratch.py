"""A tile is transposed through global memory without a barrier."""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose(x, scratch, out, B: tl.constexpr):
    m, n = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tile = tl.load(x + m * B + n)
    tl.store(scratch + m * B + n, tile)
    pass  # bug -> tl.debug_barrier()
    turned = tl.load(scratch + n * B + (B - 1 - m))  # found: race-between-threads
    tl.store(out + m * B + n, turned)


if __name__ == "__main__":
    x = torch.randn(64, 64, device="cuda")
    transpose[(1,)](x, torch.empty_like(x), torch.empty_like(x), B=64)
