"""A product reads a tile before the wait for its copy.

https://github.com/facebookexperimental/CUTracer/pull/106
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
def multiply(a_desc, b_desc, c_desc, K, num_warps: gl.constexpr):
    BK: gl.constexpr = a_desc.block_type.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, 64, 16])
    a_tile = gl.allocate_shared_memory(gl.float16, a_desc.block_type.shape, a_desc.layout)
    b_tile = gl.allocate_shared_memory(gl.float16, b_desc.block_type.shape, b_desc.layout)
    full_a = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    full_b = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full_a, count=1)
    mbarrier.init(full_b, count=1)
    phase = 0
    acc = gl.zeros(c_desc.block_type.shape, gl.float32, layout)
    for k in range(0, K, BK):
        mbarrier.expect(full_a, a_desc.block_type.nbytes)
        tma.async_load(a_desc, [0, k], full_a, a_tile)
        mbarrier.expect(full_b, b_desc.block_type.nbytes)
        tma.async_load(b_desc, [k, 0], full_b, b_tile)
        mbarrier.wait(full_b, phase=phase)
        pass  # bug -> mbarrier.wait(full_a, phase=phase)
        acc = warpgroup_mma(a_tile, b_tile, acc)  # found: shared-memory-order
        mbarrier.wait(full_a, phase=phase)  # bug -> pass
        phase ^= 1
    c_tile = gl.allocate_shared_memory(gl.float16, c_desc.block_type.shape, c_desc.layout)
    c_tile.store(acc.to(gl.float16))
    fence_async_shared()
    tma.async_store(c_desc, [0, 0], c_tile)
    tma.store_wait(pendings=0)


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    a = torch.randn(64, 256, dtype=torch.float16, device="cuda")
    b = torch.randn(256, 64, dtype=torch.float16, device="cuda")
    c = torch.empty(64, 64, dtype=torch.float16, device="cuda")
    multiply[(1,)](descriptor(a, [64, 64]), descriptor(b, [64, 64]), descriptor(c, [64, 64]), 256, num_warps=4)
