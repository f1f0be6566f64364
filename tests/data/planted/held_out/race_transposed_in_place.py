"""A kernel that transposes is called with its input as output."""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose(x, out, N, B: tl.constexpr):
    m = (tl.program_id(0) * B + tl.arange(0, B))[:, None]
    n = (tl.program_id(1) * B + tl.arange(0, B))[None, :]
    inside = (m < N) & (n < N)
    tile = tl.load(x + m * N + n, mask=inside)
    tl.store(out + n * N + m, tile, mask=inside)  # found: race-between-programs


if __name__ == "__main__":
    x = torch.randn(128, 128, device="cuda")
    transpose[(4, 4)](x, x, 128, B=32)  # bug -> transpose[(4, 4)](x, torch.empty_like(x), 128, B=32)
