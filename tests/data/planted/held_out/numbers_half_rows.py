"""Rows are added in half precision before they are added to a float32 sum.

https://github.com/meta-pytorch/torchrec/pull/3730
"""

import torch
import triton
import triton.language as tl


@triton.jit
def pooled(table, out, rows, D: tl.constexpr):
    d = tl.arange(0, D)
    total = tl.zeros([D], tl.float32)
    for row in range(0, rows, 2):
        first = tl.load(table + row * D + d)
        second = tl.load(table + (row + 1) * D + d)
        total += first + second  # bug: half-accumulator -> total += first.to(tl.float32) + second.to(tl.float32)
    tl.store(out + d, total)


if __name__ == "__main__":
    table = torch.randn(64, 128, dtype=torch.float16, device="cuda")
    pooled[(1,)](table, torch.empty(128, device="cuda"), 64, D=128)
