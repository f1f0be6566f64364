"""The smallest element of a row of positive numbers is the 0 of the padding."""

import torch
import triton
import triton.language as tl


@triton.jit
def smallest(x, out, N, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    distance = tl.abs(tl.load(x + row * N + i, mask=i < N, other=0.0))  # bug: padding-reduced -> distance = tl.abs(tl.load(x + row * N + i, mask=i < N, other=float("inf")))
    best = tl.argmin(distance, axis=0)
    tl.store(out + row, best)


if __name__ == "__main__":
    x = torch.randn(16, 100, device="cuda")
    smallest[(16,)](x, torch.empty(16, dtype=torch.int32, device="cuda"), 100, B=128)
