"""The product of a long axis is added up in half precision."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    total = tl.zeros([BM, BN], c.dtype.element_ty)  # found: half-accumulator  # bug -> total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :])
        right = tl.load(b + k[:, None] * BN + n[None, :])
        total += tl.dot(left, right).to(c.dtype.element_ty)  # found: half-accumulator  # bug -> total += tl.dot(left, right)
    tl.store(c + m[:, None] * BN + n[None, :], total)


if __name__ == "__main__":
    a = torch.randn(64, 1024, dtype=torch.float16, device="cuda")
    b = torch.randn(1024, 64, dtype=torch.float16, device="cuda")
    product[(1,)](a, b, torch.empty(64, 64, dtype=torch.float16, device="cuda"), 1024, BM=64, BN=64, BK=32)
