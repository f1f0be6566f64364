"""Two groups of asynchronous copies are read after a wait for the first.

https://github.com/NVIDIA/Fuser/pull/3438
"""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def add(x, y, out, B: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [num_warps], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    i = gl.arange(0, B, layout)
    left = gl.allocate_shared_memory(gl.float32, [B], shared)
    right = gl.allocate_shared_memory(gl.float32, [B], shared)
    async_copy.async_load(left, x + i)
    async_copy.commit_group()
    async_copy.async_load(right, y + i)
    async_copy.commit_group()
    async_copy.wait_group(1)  # bug -> async_copy.wait_group(0)
    a = left.load(layout)
    b = right.load(layout)  # found: shared-memory-order
    gl.store(out + i, a + b)
    async_copy.wait_group(0)


if __name__ == "__main__":
    x = torch.randn(512, device="cuda")
    add[(1,)](x, torch.randn(512, device="cuda"), torch.empty_like(x), B=512, num_warps=4)
