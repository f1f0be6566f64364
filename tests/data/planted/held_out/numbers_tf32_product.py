"""A product in tf32 is compared with one in float32.

https://github.com/triton-lang/triton/issues/5895
"""

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :])
        right = tl.load(b + k[:, None] * BN + n[None, :])
        total += tl.dot(left, right)  # found: tolerance-too-tight  # bug -> total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + m[:, None] * BN + n[None, :], total)


def test_product():
    a = torch.randn(64, 256, device="cuda")
    b = torch.randn(256, 64, device="cuda")
    c = torch.empty(64, 64, device="cuda")
    product[(1,)](a, b, c, 256, BM=64, BN=64, BK=32)
    torch.testing.assert_close(c, a @ b, rtol=1e-5, atol=1e-5)  # found: tolerance-too-tight
