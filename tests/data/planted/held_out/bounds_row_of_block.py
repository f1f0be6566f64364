"""Rows are BLOCK apart in the kernel and N apart in memory."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, out, N, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    at = row * B + i  # bug -> at = row * N + i
    value = tl.load(x + at, mask=i < N)  # found: access-leaves-tensor|out-of-bounds
    tl.store(out + at, value * 2, mask=i < N)  # found: access-leaves-tensor|out-of-bounds


if __name__ == "__main__":
    x = torch.randn(32, 100, device="cuda")
    scale[(32,)](x, torch.empty_like(x), 100, B=128)
