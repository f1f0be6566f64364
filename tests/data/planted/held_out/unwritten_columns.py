"""Columns beyond the block are never written.

https://github.com/facebookresearch/xformers/issues/785
"""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, N, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    value = tl.load(x + row * N + i, mask=i < N)
    tl.store(out + row * N + i, value * 2, mask=i < N)  # found: uninitialized-memory


if __name__ == "__main__":
    x = torch.randn(16, 1000, device="cuda")
    double[(16,)](x, torch.empty_like(x), 1000, B=512)  # bug -> double[(16,)](x, torch.empty_like(x), 1000, B=1024)
