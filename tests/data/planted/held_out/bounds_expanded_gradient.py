"""The gradient of a sum is one element with stride 0, which the kernel reads with stride 1.

https://github.com/ROCm/TransformerEngine/pull/623
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows(x, gradient, N, stride, B: tl.constexpr):
    row = tl.program_id(0)
    factor = tl.load(gradient + row * stride)  # found: access-leaves-tensor|out-of-bounds
    i = tl.arange(0, B)
    value = tl.load(x + row * N + i, mask=i < N)
    tl.store(x + row * N + i, value * factor, mask=i < N)


def backward(x, gradient):
    stride = 1 if gradient.numel() > 1 else 0  # bug -> stride = gradient.stride(0)
    scale_rows[(x.shape[0],)](x, gradient, x.shape[1], stride, B=128)


if __name__ == "__main__":
    x = torch.randn(64, 100, device="cuda")
    backward(x, torch.ones(1, device="cuda").expand(64))
