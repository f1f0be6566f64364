"""Gluon on CDNA4: what one layout stores, another loads, without a barrier.
target: hip:gfx950
"""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def relay(x, scratch, out, B: gl.constexpr, num_warps: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([8], [64], [num_warps], [0])
    narrow: gl.constexpr = gl.BlockedLayout([1], [64], [num_warps], [0])
    i, j = gl.arange(0, B, wide), gl.arange(0, B, narrow)
    gl.store(scratch + i, gl.load(x + i) * 2)
    pass  # bug -> gl.thread_barrier()
    back = gl.load(scratch + j)  # found: race-between-threads
    gl.store(out + j, back)


if __name__ == "__main__":
    x = torch.randn(2048, device="cuda")
    relay[(1,)](x, torch.empty_like(x), torch.empty_like(x), B=2048, num_warps=4)
