"""A block of zeros has scale 0, and 0 / 0 is NaN.

https://github.com/huggingface/kernels-community/pull/680
"""

import torch
import triton
import triton.language as tl


@triton.jit
def quantize(x, y, scales, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    values = tl.load(x + i).to(tl.float32)
    scale = tl.max(tl.abs(values)) / 448.0  # bug -> scale = tl.maximum(tl.max(tl.abs(values)), 1e-12) / 448.0
    tl.store(y + i, (values / scale).to(y.dtype.element_ty))  # found: zero-scale
    tl.store(scales + pid, scale)


if __name__ == "__main__":
    x = torch.randn(1024, device="cuda")
    y = torch.empty(1024, dtype=torch.float8_e4m3fn, device="cuda")
    quantize[(8,)](x, y, torch.empty(8, device="cuda"), B=128)
