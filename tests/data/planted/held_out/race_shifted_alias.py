"""The output begins inside the input: programs store what others load.

https://github.com/triton-lang/triton/issues/1466
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.load(x + i, mask=i < N) + tl.load(y + i, mask=i < N)
    tl.store(out + i, total, mask=i < N)  # found: race-between-programs


if __name__ == "__main__":
    x = torch.randn(1024 + 64, device="cuda")
    y = torch.randn(1024, device="cuda")
    add[(8,)](x, y, x[64:], 1024, B=128)  # bug -> add[(8,)](x, y, torch.empty_like(y), 1024, B=128)
