"""Padding counts in the variance, with the square of the mean.

https://github.com/unslothai/unsloth/pull/1867
"""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm(x, out, n_cols, eps, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n_cols
    values = tl.load(x + row * n_cols + i, mask=mask, other=0).to(tl.float32)  # found: padding-reduced
    mean = tl.sum(values, axis=0) / n_cols
    centered = values - mean  # bug -> centered = tl.where(mask, values - mean, 0)
    variance = tl.sum(centered * centered, axis=0) / n_cols
    tl.store(out + row * n_cols + i, centered * tl.math.rsqrt(variance + eps), mask=mask)


if __name__ == "__main__":
    x = torch.randn(16, 1000, device="cuda")
    layernorm[(16,)](x, torch.empty_like(x), 1000, 1e-5, B=1024)
