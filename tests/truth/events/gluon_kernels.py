# ruff: noqa: N806, RUF005, SIM108 - Gluon writes constants in capitals, and has no starred lists
"""Kernels in Gluon that are right if WRONG is 0; each other number makes the mistake that a comment names."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)


@gluon.jit
def copy_tiles(a_desc, b_desc, steps, a_tiles, b_tiles, ready, free, WRONG: gl.constexpr):
    """Copies pair after pair of tiles."""
    STAGES: gl.constexpr = a_tiles.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    for step in range(steps):
        index = step % STAGES
        phase = ((step // STAGES) & 1) ^ 1
        if WRONG == 1:  # the first wait is for a phase that nothing ends
            phase = phase ^ 1
        if WRONG != 2:  # copies without waiting for a free buffer
            mbarrier.wait(free.index(index), phase=phase)
        bar = ready.index(index)
        if WRONG == 3:  # expects the bytes of one tile of two
            mbarrier.expect(bar, a_desc.block_type.nbytes)
        elif WRONG == 4:  # expects more bytes than come
            mbarrier.expect(bar, 2 * a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        elif WRONG != 5:  # expects nothing: the barrier is never arrived at
            mbarrier.expect(bar, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [0, step * BLOCK_K], bar, a_tiles.index(index))
        if WRONG == 6:  # the second tile arrives at another barrier
            tma.async_load(
                b_desc, [step * BLOCK_K, 0], ready.index((step + 1) % STAGES), b_tiles.index(index)
            )
        else:
            tma.async_load(b_desc, [step * BLOCK_K, 0], bar, b_tiles.index(index))


@gluon.jit
def multiply_tiles(
    c_desc, steps, a_tiles, b_tiles, ready, free, ACC_LAYOUT: gl.constexpr, WRONG: gl.constexpr
):
    """Multiplies pair after pair of tiles, and stores the sum of the products."""
    STAGES: gl.constexpr = a_tiles.shape[0]
    acc = gl.zeros(c_desc.block_type.shape, gl.float32, ACC_LAYOUT)
    for step in range(steps):
        index = step % STAGES
        phase = (step // STAGES) & 1
        if WRONG == 7:  # the phase changes with each step, not with each round of buffers
            phase = step & 1
        if WRONG == 8:  # the phase before the one that the copy ends
            phase = phase ^ 1
        if WRONG != 9:  # multiplies what may not have come
            mbarrier.wait(ready.index(index), phase=phase)
        used = index
        if WRONG == 10:  # waits for one buffer and reads the next
            used = (step + 1) % STAGES
        acc = warpgroup_mma(a_tiles.index(used), b_tiles.index(used), acc, is_async=True)
        if WRONG == 11:  # lets two products run, and frees the buffer of one of them
            acc = warpgroup_mma_wait(2, deps=(acc,))
        else:
            acc = warpgroup_mma_wait(1, deps=(acc,))
        if WRONG == 12:  # frees the buffer that the product still reads
            mbarrier.arrive(free.index(index))
        elif WRONG != 13:  # frees no buffer
            mbarrier.arrive(free.index((step + STAGES - 1) % STAGES), pred=step > 0)
    if WRONG != 14:  # uses the sum while the last product runs
        acc = warpgroup_mma_wait(0, deps=(acc,))
    c_tile = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c_tile.store(acc.to(c_desc.dtype))
    if WRONG != 15:  # the store's engine may not see what the threads wrote
        fence_async_shared()
    tma.async_store(c_desc, [0, 0], c_tile)
    if WRONG == 16:  # writes to the tile that is being stored
        c_tile.store(acc.to(c_desc.dtype))
    if WRONG != 17:  # the kernel ends while its tile is being stored
        tma.store_wait(pendings=0)


@gluon.jit
def specialized_kernel(
    a_desc, b_desc, c_desc, K, ACC_LAYOUT: gl.constexpr, STAGES: gl.constexpr, WRONG: gl.constexpr
):
    """Multiplies one tile with a partition that copies and one that multiplies."""
    steps = gl.cdiv(K, a_desc.block_type.shape[1])
    a_tiles = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(b_desc.dtype, [STAGES] + b_desc.block_type.shape, b_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        if WRONG != 18 or i + 1 < STAGES:  # the last barrier is not initialized
            mbarrier.init(ready.index(i), count=1)
        if WRONG == 19:  # waits for two arrivals where one comes
            mbarrier.init(free.index(i), count=2)
        else:
            mbarrier.init(free.index(i), count=1)
    gl.warp_specialize(
        [
            (multiply_tiles, (c_desc, steps, a_tiles, b_tiles, ready, free, ACC_LAYOUT, WRONG)),
            (copy_tiles, (a_desc, b_desc, steps, a_tiles, b_tiles, ready, free, WRONG)),
        ],
        [1],
        [24],
    )


@gluon.jit
def tensor_memory_kernel(a_desc, b_desc, c_desc, K, WRONG: gl.constexpr):
    """Multiplies one tile in tensor memory."""
    BM: gl.constexpr = c_desc.block_type.shape[0]
    BN: gl.constexpr = c_desc.block_type.shape[1]
    BK: gl.constexpr = a_desc.block_type.shape[1]
    a_tile = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b_tile = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    copied = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    multiplied = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(copied, count=1)
    mbarrier.init(multiplied, count=1)
    layout: gl.constexpr = TensorMemoryLayout([BM, BN], col_stride=1)
    total = allocate_tensor_memory(gl.float32, [BM, BN], layout)
    phase = 0
    for start in range(0, K, BK):
        mbarrier.expect(copied, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [0, start], copied, a_tile)
        tma.async_load(b_desc, [start, 0], copied, b_tile)
        if WRONG != 1:  # multiplies what may not have come
            mbarrier.wait(copied, phase=phase)
        tcgen05_mma(a_tile, b_tile, total, use_acc=start > 0)
        if WRONG != 2:  # nothing says when the product has ended
            tcgen05_commit(multiplied)
        if WRONG == 3:  # waits for the phase before
            mbarrier.wait(multiplied, phase=phase ^ 1)
        elif WRONG != 4:  # copies to what the product reads
            mbarrier.wait(multiplied, phase=phase)
        if WRONG != 5:  # always waits for the first phase
            phase ^= 1
    mbarrier.invalidate(copied)
    mbarrier.invalidate(multiplied)
    c_tile = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c_tile.store(total.load().to(c_desc.dtype))
    fence_async_shared()
    tma.async_store(c_desc, [0, 0], c_tile)
    tma.store_wait(pendings=0)


@gluon.jit
def copied_rows(x, o, columns, B: gl.constexpr, WRONG: gl.constexpr, num_warps: gl.constexpr):
    """Adds up blocks that are copied two ahead, with cp.async."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [num_warps], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    tiles = gl.allocate_shared_memory(gl.float32, [3, B], shared)
    places = gl.arange(0, B, layout)
    for i in gl.static_range(2):
        async_copy.async_load(tiles.index(i), x + i * B + places)
        async_copy.commit_group()
    total = gl.zeros((B,), gl.float32, layout)
    steps = columns // B
    for step in range(steps):
        ahead = (step + 2) % 3
        if WRONG == 1:  # copies to the block that is read next
            ahead = (step + 1) % 3
        async_copy.async_load(tiles.index(ahead), x + (step + 2) * B + places)
        async_copy.commit_group()
        if WRONG == 2:  # one group too many may be in flight
            async_copy.wait_group(3)
        elif WRONG != 3:  # reads what may not have come
            async_copy.wait_group(2)
        total += tiles.index(step % 3).load(layout)
    async_copy.wait_group(0)
    gl.store(o + places, total)
