"""A sum is added to memory that nothing set to 0.

https://github.com/ByteDance-Seed/Triton-distributed/pull/184
"""

import torch
import triton
import triton.language as tl


@triton.jit
def total(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    part = tl.sum(tl.load(x + i, mask=i < N, other=0.0))
    tl.atomic_add(out, part)  # found: uninitialized-memory


def reduce(x):
    out = torch.empty([1], dtype=x.dtype, device=x.device)  # found: uninitialized-memory  # bug -> out = torch.zeros([1], dtype=x.dtype, device=x.device)
    total[(4,)](x, out, x.numel(), B=1024)
    return out


if __name__ == "__main__":
    reduce(torch.randn(4096, device="cuda"))
