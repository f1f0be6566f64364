"""The first program adds up what the others store."""

import torch
import triton
import triton.language as tl


@triton.jit
def total(x, parts, out, N, B: tl.constexpr, P: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    part = tl.sum(tl.load(x + i, mask=i < N, other=0.0))
    tl.store(parts + pid, part)
    if pid == 0:
        every = tl.load(parts + tl.arange(0, P))  # found: race-between-programs  # bug -> every = part
        tl.store(out, tl.sum(every + tl.zeros([P], tl.float32)))


if __name__ == "__main__":
    x = torch.randn(2000, device="cuda")
    total[(8,)](x, torch.zeros(8, device="cuda"), torch.zeros(1, device="cuda"), 2000, B=256, P=8)
