"""The compiler is told that no program is the first one.

https://github.com/ROCm/aiter/pull/4291
"""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, N, B: tl.constexpr):
    pid = tl.program_id(0)
    tl.assume(pid > 0)  # bug: assumption-false -> tl.assume(pid >= 0)
    i = pid * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < N) * 2, mask=i < N)


if __name__ == "__main__":
    x = torch.randn(1000, device="cuda")
    double[(8,)](x, torch.empty_like(x), 1000, B=128)
