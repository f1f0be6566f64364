"""Rows behind the last packed sequence are never written.

https://github.com/fla-org/flash-linear-attention/pull/892
"""

import torch
import triton
import triton.language as tl


@triton.jit
def gradient(x, dx, tokens, D: tl.constexpr, B: tl.constexpr):
    t = (tl.program_id(0) * B + tl.arange(0, B))[:, None]
    d = tl.arange(0, D)[None, :]
    value = tl.load(x + t * D + d, mask=t < tokens, other=0.0)
    tl.store(dx + t * D + d, value * 2, mask=t < tokens)  # found: uninitialized-memory


if __name__ == "__main__":
    x = torch.randn(1024, 64, device="cuda")
    gradient[(16,)](x, torch.empty_like(x), 900, D=64, B=64)  # bug -> gradient[(16,)](x, torch.zeros_like(x), 900, D=64, B=64)
