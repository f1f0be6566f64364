"""A constant of a tensor in float64 makes the sum float64."""

import torch
import triton
import triton.language as tl


@triton.jit
def normalized(x, mean, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < N, other=0.0)
    centered = value - tl.load(mean)  # bug: double-precision -> centered = value - tl.load(mean).to(tl.float32)
    tl.store(out + i, (centered * centered).to(tl.float32), mask=i < N)


if __name__ == "__main__":
    x = torch.randn(1000, device="cuda")
    mean = torch.zeros(1, dtype=torch.float64, device="cuda")
    normalized[(4,)](x, mean, torch.empty_like(x), 1000, B=256)
