"""The next tile is written to shared memory while the copy engine reads the last one.

https://github.com/NVIDIA/TransformerEngine/pull/3417
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
def double(x, out_desc, blocks, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [num_warps, 1], [1, 0])
    m = gl.arange(0, 64, gl.SliceLayout(1, layout))
    n = gl.arange(0, 64, gl.SliceLayout(0, layout))
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], out_desc.layout)
    for block in range(blocks):
        value = gl.load(x + (block * 64 + m)[:, None] * 64 + n[None, :])
        pass  # bug -> tma.store_wait(pendings=0)
        tile.store(value * 2)  # found: shared-memory-order
        fence_async_shared()
        tma.async_store(out_desc, [block * 64, 0], tile)
    tma.store_wait(pendings=0)


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    x = torch.randn(256, 64, dtype=torch.float16, device="cuda")
    double[(1,)](x, descriptor(torch.empty_like(x), [64, 64]), 4, num_warps=4)
