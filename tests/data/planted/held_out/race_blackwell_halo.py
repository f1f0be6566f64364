"""Gluon on Blackwell: programs blur in place, and read what their neighbors store.
target: cuda:100
"""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def blur(x, out, N, B: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [num_warps], [0])
    i = gl.program_id(0) * B + gl.arange(0, B, layout)
    near = gl.load(x + i + B, mask=i + B < N, other=0.0)
    gl.store(x + i, near * 0.5, mask=i < N)  # bug: race-between-programs -> gl.store(out + i, near * 0.5, mask=i < N)


if __name__ == "__main__":
    x = torch.randn(4096, device="cuda")
    blur[(8,)](x, torch.empty_like(x), 4096, B=512, num_warps=4)
