"""A specialized consumer waits for one operand of two.

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
def produce(a_desc, b_desc, steps, a_tiles, b_tiles, full_a, full_b, free):
    for step in range(steps):
        slot = step % 2
        mbarrier.wait(free.index(slot), phase=((step // 2) & 1) ^ 1)
        mbarrier.expect(full_a.index(slot), a_desc.block_type.nbytes)
        tma.async_load(a_desc, [0, step * 64], full_a.index(slot), a_tiles.index(slot))
        mbarrier.expect(full_b.index(slot), b_desc.block_type.nbytes)
        tma.async_load(b_desc, [step * 64, 0], full_b.index(slot), b_tiles.index(slot))


@gluon.jit
def consume(c_desc, steps, a_tiles, b_tiles, full_a, full_b, free, layout: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, layout)
    for step in range(steps):
        slot = step % 2
        mbarrier.wait(full_a.index(slot), phase=(step // 2) & 1)
        pass  # bug -> mbarrier.wait(full_b.index(slot), phase=(step // 2) & 1)
        acc = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), acc)  # found: shared-memory-order
        mbarrier.arrive(free.index(slot))
    c_tile = gl.allocate_shared_memory(gl.float16, [64, 64], c_desc.layout)
    c_tile.store(acc.to(gl.float16))
    fence_async_shared()
    tma.async_store(c_desc, [0, 0], c_tile)
    tma.store_wait(pendings=0)


@gluon.jit
def multiply(a_desc, b_desc, c_desc, K, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, 64, 16])
    a_tiles = gl.allocate_shared_memory(gl.float16, [2, 64, 64], a_desc.layout)
    b_tiles = gl.allocate_shared_memory(gl.float16, [2, 64, 64], b_desc.layout)
    full_a = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    full_b = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(2):
        mbarrier.init(full_a.index(slot), count=1)
        mbarrier.init(full_b.index(slot), count=1)
        mbarrier.init(free.index(slot), count=1)
    steps = K // 64
    gl.warp_specialize(
        [
            (consume, (c_desc, steps, a_tiles, b_tiles, full_a, full_b, free, layout)),
            (produce, (a_desc, b_desc, steps, a_tiles, b_tiles, full_a, full_b, free)),
        ],
        [1],
        [24],
    )


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    a = torch.randn(64, 256, dtype=torch.float16, device="cuda")
    b = torch.randn(256, 64, dtype=torch.float16, device="cuda")
    c = torch.empty(64, 64, dtype=torch.float16, device="cuda")
    multiply[(1,)](descriptor(a, [64, 64]), descriptor(b, [64, 64]), descriptor(c, [64, 64]), 256, num_warps=4)
