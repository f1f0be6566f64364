"""The output is a view of every second element, and the kernel writes the first half.

https://github.com/flagos-ai/FlagGems/pull/5939
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, out, N, stride, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < N)
    tl.store(out + i, value, mask=i < N)  # bug: uninitialized-memory -> tl.store(out + i * stride, value, mask=i < N)


if __name__ == "__main__":
    x = torch.randn(1000, device="cuda")
    out = torch.empty(2000, device="cuda")[::2]
    copy[(4,)](x, out, 1000, out.stride(0), B=256)
