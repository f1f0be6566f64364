"""The next operand is written while the product in flight reads the last one."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def squares(a, out, K, num_warps: gl.constexpr):
    loaded: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [num_warps, 1], [1, 0])
    product: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, 64, 16])
    shared: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    m = gl.arange(0, 64, gl.SliceLayout(1, loaded))
    k = gl.arange(0, 64, gl.SliceLayout(0, loaded))
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], shared)
    acc = warpgroup_mma_init(gl.zeros([64, 64], gl.float32, product))
    for start in range(0, K, 64):
        value = gl.load(a + m[:, None] * K + start + k[None, :])
        pass  # bug -> acc = warpgroup_mma_init(warpgroup_mma_wait(0, deps=(acc,)))
        tile.store(value)  # found: shared-memory-order
        fence_async_shared()
        acc = warpgroup_mma(tile, tile.permute((1, 0)), acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    row = gl.arange(0, 64, gl.SliceLayout(1, product))
    column = gl.arange(0, 64, gl.SliceLayout(0, product))
    gl.store(out + row[:, None] * 64 + column[None, :], acc)


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    a = torch.randn(64, 256, dtype=torch.float16, device="cuda")
    out = torch.empty(64, 64, device="cuda")
    squares[(1,)](a, out, 256, num_warps=4)
