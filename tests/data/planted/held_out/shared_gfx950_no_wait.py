"""CDNA4: a tile is read before its asynchronous copy is complete.
target: hip:gfx950

https://github.com/triton-lang/triton/pull/8605
"""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd.cdna4 import async_copy


@gluon.jit
def double(x, out, B: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [64], [num_warps], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    i = gl.arange(0, B, layout)
    tile = gl.allocate_shared_memory(gl.float32, [B], shared)
    async_copy.global_load_to_shared(tile, x + i)
    async_copy.commit_group()
    pass  # bug -> async_copy.wait_group(0)
    value = tile.load(layout)  # found: shared-memory-order
    gl.store(out + i, value * 2)
    async_copy.wait_group(0)


if __name__ == "__main__":
    x = torch.randn(1024, device="cuda")
    double[(1,)](x, torch.empty_like(x), B=1024, num_warps=4)
