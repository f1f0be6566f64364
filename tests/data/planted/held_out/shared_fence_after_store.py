"""The fence comes after the store by the copy engine that needs it.

https://github.com/facebookexperimental/triton/pull/368
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
def double(x, out_desc, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [num_warps, 1], [1, 0])
    m = gl.arange(0, 64, gl.SliceLayout(1, layout))
    n = gl.arange(0, 64, gl.SliceLayout(0, layout))
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], out_desc.layout)
    tile.store(gl.load(x + m[:, None] * 64 + n[None, :]) * 2)
    pass  # bug -> fence_async_shared()
    tma.async_store(out_desc, [0, 0], tile)  # found: shared-memory-order
    fence_async_shared()  # bug -> pass
    tma.store_wait(pendings=0)


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    x = torch.randn(64, 64, dtype=torch.float16, device="cuda")
    double[(1,)](x, descriptor(torch.empty_like(x), [64, 64]), num_warps=4)
