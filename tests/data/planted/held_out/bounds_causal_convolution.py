"""A causal convolution reads before the first token."""

import torch
import triton
import triton.language as tl


@triton.jit
def convolve(x, weight, out, T, W: tl.constexpr, B: tl.constexpr):
    t = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for tap in tl.static_range(W):
        at = t - (W - 1) + tap
        inside = at < T  # bug -> inside = (at >= 0) & (at < T)
        value = tl.load(x + at, mask=inside, other=0.0)  # found: access-leaves-tensor
        total += value * tl.load(weight + tap)
    tl.store(out + t, total, mask=t < T)


if __name__ == "__main__":
    x = torch.randn(1000, device="cuda")
    convolve[(8,)](x, torch.randn(4, device="cuda"), torch.empty_like(x), 1000, W=4, B=128)
