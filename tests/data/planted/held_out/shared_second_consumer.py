"""One of two consumers does not free the tile: the producer waits for ever."""

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
def produce(x_desc, steps, tile, full, free):
    for step in range(steps):
        mbarrier.wait(free, phase=(step & 1) ^ 1)  # found: shared-memory-order
        mbarrier.expect(full, x_desc.block_type.nbytes)
        tma.async_load(x_desc, [step * 64, 0], full, tile)


@gluon.jit
def first(out, steps, tile, full, free, layout: gl.constexpr):
    total = gl.zeros([64, 64], gl.float16, layout)
    for step in range(steps):
        mbarrier.wait(full, phase=step & 1)  # found: shared-memory-order
        total += tile.load(layout)
        mbarrier.arrive(free)
    m = gl.arange(0, 64, gl.SliceLayout(1, layout))
    n = gl.arange(0, 64, gl.SliceLayout(0, layout))
    gl.store(out + m[:, None] * 64 + n[None, :], total)


@gluon.jit
def second(out, steps, tile, full, free, layout: gl.constexpr):
    total = gl.zeros([64, 64], gl.float16, layout)
    for step in range(steps):
        mbarrier.wait(full, phase=step & 1)  # found: shared-memory-order
        value = tile.load(layout)
        total += value * value
        pass  # bug -> mbarrier.arrive(free)
    m = gl.arange(0, 64, gl.SliceLayout(1, layout))
    n = gl.arange(0, 64, gl.SliceLayout(0, layout))
    gl.store(out + 4096 + m[:, None] * 64 + n[None, :], total)


@gluon.jit
def sums(x_desc, out, steps, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], x_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(free, count=2)
    gl.warp_specialize(
        [
            (first, (out, steps, tile, full, free, layout)),
            (second, (out, steps, tile, full, free, layout)),
            (produce, (x_desc, steps, tile, full, free)),
        ],
        [4, 1],
        [64, 24],
    )


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    x = torch.randn(256, 64, dtype=torch.float16, device="cuda")
    sums[(1,)](descriptor(x, [64, 64]), torch.empty(2, 64, 64, dtype=torch.float16, device="cuda"), 4, num_warps=4)
