"""The product is added to beta times memory that nothing wrote; 0 times NaN is NaN.

https://github.com/flashinfer-ai/flashinfer/issues/4724
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(a, c, alpha, beta, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = alpha * tl.load(a + i, mask=i < N)
    value += beta * tl.load(c + i, mask=i < N)  # found: uninitialized-memory
    tl.store(c + i, value, mask=i < N)


def scale(a, alpha=2.0, beta=0.0):
    c = torch.empty_like(a)  # found: uninitialized-memory  # bug -> c = torch.zeros_like(a)
    scaled[(4,)](a, c, alpha, beta, a.numel(), B=256)
    return c


if __name__ == "__main__":
    scale(torch.randn(1000, device="cuda"))
