"""The state of a sequence without blocks is stored without a fence: only the loop has one.

https://github.com/MoonshotAI/FlashKDA/pull/25
"""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def state(x, out_desc, blocks, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [num_warps, 1], [1, 0])
    m = gl.arange(0, 64, gl.SliceLayout(1, layout))
    n = gl.arange(0, 64, gl.SliceLayout(0, layout))
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], out_desc.layout)
    tile.store(gl.zeros([64, 64], gl.float16, layout))
    for block in range(blocks):
        value = gl.load(x + (block * 64 + m)[:, None] * 64 + n[None, :])
        tile.store(tile.load(layout) + value)
        fence_async_shared()
    pass  # bug -> fence_async_shared()
    tma.async_store(out_desc, [0, 0], tile)  # found: shared-memory-order
    tma.store_wait(pendings=0)


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    x = torch.randn(256, 64, dtype=torch.float16, device="cuda")
    state[(1,)](x, descriptor(torch.empty(64, 64, dtype=torch.float16, device="cuda"), [64, 64]), 0, num_warps=4)
