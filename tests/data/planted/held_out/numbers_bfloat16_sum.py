"""Gradients are added up in bfloat16, which only their sum leaves.

https://github.com/linkedin/Liger-Kernel/pull/950
"""

import torch
import triton
import triton.language as tl


@triton.jit
def weight_gradient(dy, x, dw, M, N, BM: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros([BN], tl.float32)
    for start in range(0, M, BM):
        m = start + tl.arange(0, BM)
        inside = (m[:, None] < M) & (n[None, :] < N)
        left = tl.load(dy + m[:, None] * N + n[None, :], mask=inside, other=0.0)
        right = tl.load(x + m[:, None] * N + n[None, :], mask=inside, other=0.0)
        total += tl.sum(left * right, 0)  # bug: half-accumulator|half-reduction -> total += tl.sum((left * right).to(tl.float32), 0)
    tl.store(dw + n, total, mask=n < N)


if __name__ == "__main__":
    dy = torch.randn(512, 256, dtype=torch.bfloat16, device="cuda")
    weight_gradient[(4,)](dy, torch.randn_like(dy), torch.empty(256, device="cuda"), 512, 256, BM=64, BN=64)
