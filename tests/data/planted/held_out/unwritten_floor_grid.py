"""The grid is rounded down: the last rows are not written."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < N)
    tl.store(out + i, value * 2, mask=i < N)  # found: uninitialized-memory


if __name__ == "__main__":
    x = torch.randn(1000, device="cuda")
    double[(1000 // 128,)](x, torch.empty_like(x), 1000, B=128)  # bug -> double[(triton.cdiv(1000, 128),)](x, torch.empty_like(x), 1000, B=128)
