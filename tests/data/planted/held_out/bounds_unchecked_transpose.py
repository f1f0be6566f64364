"""Tiles at the edge are transposed without a mask.

https://github.com/NVlabs/COAT/issues/19
"""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose(x, out, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    inside = (m[:, None] < M) & (n[None, :] < N)
    value = tl.load(x + m[:, None] * N + n[None, :], mask=inside)
    tl.store(out + n[None, :] * M + m[:, None], value)  # bug: access-leaves-tensor|out-of-bounds|mask-missing|race-between-programs -> tl.store(out + n[None, :] * M + m[:, None], value, mask=inside)


if __name__ == "__main__":
    x = torch.randn(1536, 1560, device="cuda")
    out = torch.empty(1560, 1536, device="cuda")
    transpose[(triton.cdiv(1536, 64), triton.cdiv(1560, 64))](x, out, 1536, 1560, B=64)
