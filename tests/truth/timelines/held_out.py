# ruff: noqa: N806, RUF005 - Gluon writes constants in capitals, and has no starred lists
"""Loops to which nothing was fitted: prints their cycles per iteration, and the order of events in some.

    irscope run --force -o held.irscope -m tests.truth.timelines.held_out > held.jsonl; \
        python -m tests.truth.timelines.periods held.irscope held.jsonl

(in the root of the repository, on an H200 with Triton 3.6, in some minutes) prints computed against measured.

    irscope run --force -o second.irscope -m tests.truth.timelines.held_out --second > second.jsonl; \
        python -m tests.truth.timelines.periods second.irscope second.jsonl

does so for five products of other kinds, whose data are not in L2 when they start, and once more for the two
loops of above that may find theirs there: the tensors of the launch before have 42 and 30 MB.

Events are timed in Gluon's partitions: after each wait, and when a copy or a product has been issued. In one
program all read the same clock, that of their multiprocessor.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    async_copy,
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from tests.truth.timelines.launches import (
    LONG,
    PROGRAMS,
    SHORT,
    attention,
    cycles_of,
    descriptors,
    pointers,
    read_clock,
    specialized,
    tile,
)

HALVES = (torch.float16, torch.float16)
EIGHTS = (torch.float8_e4m3fn, torch.float8_e4m3fn)
TIMED = 96
# The columns of the times: a wait for a free buffer ended, the copies are issued; a wait for full buffers
# ended, the product is issued, the product before it has ended.
EVENTS = ("free", "copied", "full", "issued", "multiplied")


@triton.jit
def start(a, b, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The rows and columns of a program, and its first tiles of A and B."""
    rows = tl.program_id(0) % 16 * BM + tl.arange(0, BM)
    columns = tl.program_id(0) // 16 * BN + tl.arange(0, BN)
    depths = tl.arange(0, BK)
    a_ptrs = a + rows[:, None] * length + depths[None, :]
    b_ptrs = b + columns[:, None] * length + depths[None, :]
    return rows, columns, depths, a_ptrs, b_ptrs


@triton.jit
def finish(c, clocks, begin, acc, rows, columns, BN: tl.constexpr):
    tl.store(c + rows[:, None] * (BN * 8) + columns[None, :], acc)
    tl.debug_barrier()
    tl.store(clocks + tl.program_id(0), read_clock(tl.program_id(0)) - begin)


@triton.jit
def masked(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Loads with a mask of what is left, as in matrices of any depth."""
    begin = read_clock(tl.program_id(0))
    length = iterations * BK
    rows, columns, depths, a_ptrs, b_ptrs = start(a, b, length, BM, BN, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(iterations):
        left = depths[None, :] < length - k * BK
        acc = tl.dot(tl.load(a_ptrs, left, 0.0), tl.load(b_ptrs, left, 0.0).T, acc)
        a_ptrs += BK
        b_ptrs += BK
    finish(c, clocks, begin, acc, rows, columns, BN)


@triton.jit
def normalized(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product whose A is normalized: mean and deviation of each row are known, weights are loaded."""
    begin = read_clock(tl.program_id(0))
    rows, columns, depths, a_ptrs, b_ptrs = start(a, b, iterations * BK, BM, BN, BK)
    mean = tl.load(a + rows).to(tl.float32)
    deviation = tl.rsqrt(tl.load(a + 4096 + rows).to(tl.float32) * mean + 1.0)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(iterations):
        weights = tl.load(b + k * BK + depths).to(tl.float32)
        values = (tl.load(a_ptrs).to(tl.float32) - mean[:, None]) * deviation[:, None] * weights[None, :]
        acc = tl.dot(values.to(tl.float16), tl.load(b_ptrs).T, acc)
        a_ptrs += BK
        b_ptrs += BK
    finish(c, clocks, begin, acc, rows, columns, BN)


@triton.jit
def dequantized(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product whose B are bytes, each times a scale of its column."""
    begin = read_clock(tl.program_id(0))
    rows, columns, _, a_ptrs, b_ptrs = start(a, b, iterations * BK, BM, BN, BK)
    scales = tl.load(a + columns)
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(iterations):
        values = tl.load(b_ptrs).to(tl.float16) * scales[:, None]
        acc = tl.dot(tl.load(a_ptrs), values.T, acc)
        a_ptrs += BK
        b_ptrs += BK
    finish(c, clocks, begin, acc, rows, columns, BN)


@triton.jit
def convolution(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """An implicit product: the place of each column of A comes from a division, as for taps of 3 x 3."""
    begin = read_clock(tl.program_id(0))
    length = iterations * BK
    rows, columns, _, a_ptrs, b_ptrs = start(a, b, length, BM, BN, BK)
    y, x = rows // 64, rows % 64
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(iterations):
        tap = k % 9
        inside = (y + tap // 3 < 64) & (x + tap % 3 < 64)
        places = a_ptrs + (tap // 3 * 64 + tap % 3) * 8 + k // 9 * BK
        acc = tl.dot(tl.load(places, inside[:, None], 0.0), tl.load(b_ptrs).T, acc)
        b_ptrs += BK
    finish(c, clocks, begin, acc, rows, columns, BN)


@triton.jit
def split(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Each program multiplies another part of the depth, and adds its product to what others have."""
    begin = read_clock(tl.program_id(0))
    part = tl.program_id(0) * (iterations * BK)
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    depths = tl.arange(0, BK)
    length = iterations * BK * 8
    a_ptrs = a + part + rows[:, None] * length + depths[None, :]
    b_ptrs = b + part % length + columns[:, None] * length + depths[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(iterations):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs).T, acc)
        a_ptrs += BK
        b_ptrs += BK
    tl.atomic_add(c + rows[:, None] * BN + columns[None, :], acc)
    tl.debug_barrier()
    tl.store(clocks + tl.program_id(0), read_clock(tl.program_id(0)) - begin)


@triton.jit
def causal(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Attention with scale and mask; A, B as in `attention`."""
    begin = read_clock(tl.program_id(0))
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depths = tl.arange(0, BK)
    keys = tl.arange(0, BN)
    query = tl.load(a + rows[:, None] * BK + depths[None, :])
    offsets = b + tl.program_id(0) // 16 * 2 * iterations * BN * BK + keys[:, None] * BK + depths[None, :]
    acc = tl.zeros((BM, BK), tl.float32)
    highest = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for _ in range(iterations):
        scores = tl.dot(query, tl.load(offsets).T) * 0.18
        scores = tl.where(rows[:, None] * iterations >= keys[None, :], scores, -1e30)
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        scale = tl.exp2(highest - higher)
        total = total * scale + tl.sum(weights, 1)
        acc = tl.dot(weights.to(tl.float16), tl.load(offsets + iterations * BN * BK), acc * scale[:, None])
        highest = higher
        keys += BN
        offsets += BN * BK
    tl.store(c + rows[:, None] * BK + depths[None, :], acc / total[:, None])
    tl.debug_barrier()
    tl.store(clocks + tl.program_id(0), read_clock(tl.program_id(0)) - begin)


@gluon.jit
def note(times, step, event: gl.constexpr):
    clock = gl.inline_asm_elementwise(
        "mov.u64 $0, %clock64;", "=l,r", [step], dtype=gl.int64, is_pure=False, pack=1
    )
    gl.store(times + step * 5 + event, clock)


@gluon.jit
def copy_timed(a_desc, b_desc, steps, a_tiles, b_tiles, full, free, times):
    STAGES: gl.constexpr = a_tiles.shape[0]
    BK: gl.constexpr = a_desc.block_type.shape[1]
    row = gl.program_id(0) % 16 * a_desc.block_type.shape[0]
    column = gl.program_id(0) // 16 * b_desc.block_type.shape[0]
    for step in range(steps):
        index = step % STAGES
        mbarrier.wait(free.index(index), phase=((step // STAGES) & 1) ^ 1)
        note(times, step, 0)
        bar = full.index(index)
        mbarrier.expect(bar, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(a_desc, [row, step * BK], bar, a_tiles.index(index))
        tma.async_copy_global_to_shared(b_desc, [column, step * BK], bar, b_tiles.index(index))
        note(times, step, 1)


@gluon.jit
def multiply_timed(c, steps, a_tiles, b_tiles, full, free, times, LAYOUT: gl.constexpr):
    STAGES: gl.constexpr = a_tiles.shape[0]
    BM: gl.constexpr = a_tiles.shape[1]
    BN: gl.constexpr = b_tiles.shape[1]
    acc = gl.zeros((BM, BN), gl.float32, LAYOUT)
    for step in range(steps):
        index = step % STAGES
        mbarrier.wait(full.index(index), phase=(step // STAGES) & 1)
        note(times, step, 2)
        acc = warpgroup_mma(a_tiles.index(index), b_tiles.index(index).permute((1, 0)), acc, is_async=True)
        note(times, step, 3)
        acc = warpgroup_mma_wait(1, deps=(acc,))
        note(times, step, 4)
        mbarrier.arrive(free.index((step + STAGES - 1) % STAGES), pred=step > 0)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    rows = gl.arange(0, BM, gl.SliceLayout(1, LAYOUT))
    columns = gl.arange(0, BN, gl.SliceLayout(0, LAYOUT))
    gl.store(c + gl.program_id(0) * BM * BN + rows[:, None] * BN + columns[None, :], acc)


@gluon.jit
def timed(a_desc, b_desc, c, times, steps, STAGES: gl.constexpr, LAYOUT: gl.constexpr):
    """A product of which one partition copies the tiles, and notes of both when they do what."""
    a_tiles = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(b_desc.dtype, [STAGES] + b_desc.block_type.shape, b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(free.index(i), count=1)
    mine = times + gl.program_id(0) * steps * 5
    gl.warp_specialize(
        [
            (multiply_timed, (c, steps, a_tiles, b_tiles, full, free, mine, LAYOUT)),
            (copy_timed, (a_desc, b_desc, steps, a_tiles, b_tiles, full, free, mine)),
        ],
        [1],
        [24],
    )


@gluon.jit
def note_next(times, step, event: gl.constexpr):
    """As `note`, with up to eight events per step."""
    clock = gl.inline_asm_elementwise(
        "mov.u64 $0, %clock64;", "=l,r", [step], dtype=gl.int64, is_pure=False, pack=1
    )
    gl.store(times + step * 8 + event, clock)


@gluon.jit
def fill(desc, row, steps, tiles, full, free, times, FIRST: gl.constexpr):
    """Copy the tiles of one tensor; the notes are `FIRST` and the one after."""
    STAGES: gl.constexpr = tiles.shape[0]
    BK: gl.constexpr = desc.block_type.shape[1]
    for step in range(steps):
        index = step % STAGES
        mbarrier.wait(free.index(index), phase=((step // STAGES) & 1) ^ 1)
        note_next(times, step, FIRST)
        mbarrier.expect(full.index(index), desc.block_type.nbytes)
        tma.async_copy_global_to_shared(desc, [row, step * BK], full.index(index), tiles.index(index))
        note_next(times, step, FIRST + 1)


@gluon.jit
def fill_first(desc, row, steps, tiles, full, free, times):
    fill(desc, row, steps, tiles, full, free, times, 0)


@gluon.jit
def fill_second(desc, row, steps, tiles, full, free, times):
    fill(desc, row, steps, tiles, full, free, times, 2)


@gluon.jit
def multiply_separate(c, steps, a_tiles, b_tiles, a_full, b_full, free, times, LAYOUT: gl.constexpr):
    STAGES: gl.constexpr = a_tiles.shape[0]
    BM: gl.constexpr = a_tiles.shape[1]
    BN: gl.constexpr = b_tiles.shape[1]
    acc = gl.zeros((BM, BN), gl.float32, LAYOUT)
    for step in range(steps):
        index = step % STAGES
        mbarrier.wait(a_full.index(index), phase=(step // STAGES) & 1)
        mbarrier.wait(b_full.index(index), phase=(step // STAGES) & 1)
        note_next(times, step, 4)
        acc = warpgroup_mma(a_tiles.index(index), b_tiles.index(index).permute((1, 0)), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        note_next(times, step, 5)
        mbarrier.arrive(free.index(index))
    keep(c, acc, LAYOUT)


@gluon.jit
def keep(c, acc, LAYOUT: gl.constexpr):
    BM: gl.constexpr = acc.shape[0]
    BN: gl.constexpr = acc.shape[1]
    rows = gl.arange(0, BM, gl.SliceLayout(1, LAYOUT))
    columns = gl.arange(0, BN, gl.SliceLayout(0, LAYOUT))
    gl.store(c + gl.program_id(0) * BM * BN + rows[:, None] * BN + columns[None, :], acc)


@gluon.jit
def timed_copiers(a_desc, b_desc, c, times, steps, STAGES: gl.constexpr, LAYOUT: gl.constexpr):
    """A product for which a partition copies A, and another one B; products do not overlap."""
    a_tiles = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(b_desc.dtype, [STAGES] + b_desc.block_type.shape, b_desc.layout)
    a_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    b_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(a_full.index(i), count=1)
        mbarrier.init(b_full.index(i), count=1)
        mbarrier.init(free.index(i), count=1)
    mine = times + gl.program_id(0) * steps * 8
    row = gl.program_id(0) % 16 * a_desc.block_type.shape[0]
    column = gl.program_id(0) // 16 * b_desc.block_type.shape[0]
    gl.warp_specialize(
        [
            (multiply_separate, (c, steps, a_tiles, b_tiles, a_full, b_full, free, mine, LAYOUT)),
            (fill_first, (a_desc, row, steps, a_tiles, a_full, free, mine)),
            (fill_second, (b_desc, column, steps, b_tiles, b_full, free, mine)),
        ],
        [1, 1],
        [24, 24],
    )


@gluon.jit
def copy_halves(a_desc, b_desc, steps, tops, bottoms, b_tiles, full, free, times):
    STAGES: gl.constexpr = b_tiles.shape[0]
    BM: gl.constexpr = a_desc.block_type.shape[0]
    BK: gl.constexpr = a_desc.block_type.shape[1]
    row = gl.program_id(0) % 16 * (2 * BM)
    column = gl.program_id(0) // 16 * b_desc.block_type.shape[0]
    for step in range(steps):
        index = step % STAGES
        mbarrier.wait(free.index(index), phase=((step // STAGES) & 1) ^ 1)
        note_next(times, step, 0)
        bar = full.index(index)
        mbarrier.expect(bar, 2 * a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(a_desc, [row, step * BK], bar, tops.index(index))
        tma.async_copy_global_to_shared(a_desc, [row + BM, step * BK], bar, bottoms.index(index))
        tma.async_copy_global_to_shared(b_desc, [column, step * BK], bar, b_tiles.index(index))
        note_next(times, step, 1)


@gluon.jit
def multiply_half(c, steps, a_tiles, b_tiles, full, free, times, FIRST: gl.constexpr, LAYOUT: gl.constexpr):
    STAGES: gl.constexpr = a_tiles.shape[0]
    BM: gl.constexpr = a_tiles.shape[1]
    BN: gl.constexpr = b_tiles.shape[1]
    acc = gl.zeros((BM, BN), gl.float32, LAYOUT)
    for step in range(steps):
        index = step % STAGES
        mbarrier.wait(full.index(index), phase=(step // STAGES) & 1)
        note_next(times, step, FIRST)
        acc = warpgroup_mma(a_tiles.index(index), b_tiles.index(index).permute((1, 0)), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        note_next(times, step, FIRST + 1)
        mbarrier.arrive(free.index(index))
    keep(c, acc, LAYOUT)


@gluon.jit
def multiply_upper(c, steps, a_tiles, b_tiles, full, free, times, LAYOUT: gl.constexpr):
    multiply_half(c, steps, a_tiles, b_tiles, full, free, times, 2, LAYOUT)


@gluon.jit
def multiply_lower(c, steps, a_tiles, b_tiles, full, free, times):
    # A partition takes no constants.
    BN: gl.constexpr = b_tiles.shape[1]
    LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 16])
    multiply_half(c, steps, a_tiles, b_tiles, full, free, times, 4, LAYOUT)


@gluon.jit
def timed_halves(a_desc, b_desc, c, times, steps, STAGES: gl.constexpr, LAYOUT: gl.constexpr):
    """A product whose rows are halved between two partitions; a third one copies the tiles of both."""
    tops = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    bottoms = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(b_desc.dtype, [STAGES] + b_desc.block_type.shape, b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(free.index(i), count=2)
    mine = times + gl.program_id(0) * steps * 8
    size: gl.constexpr = a_desc.block_type.shape[0] * b_desc.block_type.shape[0]
    lower = c + gl.num_programs(0) * size
    gl.warp_specialize(
        [
            (multiply_upper, (c, steps, tops, b_tiles, full, free, mine, LAYOUT)),
            (multiply_lower, (lower, steps, bottoms, b_tiles, full, free, mine)),
            (copy_halves, (a_desc, b_desc, steps, tops, bottoms, b_tiles, full, free, mine)),
        ],
        [4, 1],
        [168, 24],
    )


@gluon.jit
def load_tiles(a_ptrs, b_ptrs, a_tile, b_tile):
    async_copy.async_copy_global_to_shared(a_tile, a_ptrs)
    async_copy.async_copy_global_to_shared(b_tile, b_ptrs)
    async_copy.commit_group()


@gluon.jit
def timed_groups(
    a,
    b,
    c,
    times,
    steps,
    length,
    BM: gl.constexpr,
    BN: gl.constexpr,
    BK: gl.constexpr,
    STAGES: gl.constexpr,
    TILES: gl.constexpr,
    LAYOUT: gl.constexpr,
):
    """A product without partitions, pipelined by hand: its warps load through pointers, in groups."""
    LOADED: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    a_tiles = gl.allocate_shared_memory(gl.float16, [STAGES, BM, BK], TILES)
    b_tiles = gl.allocate_shared_memory(gl.float16, [STAGES, BN, BK], TILES)
    depths = gl.arange(0, BK, gl.SliceLayout(0, LOADED))[None, :]
    rows = gl.program_id(0) % 16 * BM + gl.arange(0, BM, gl.SliceLayout(1, LOADED))
    columns = gl.program_id(0) // 16 * BN + gl.arange(0, BN, gl.SliceLayout(1, LOADED))
    a_ptrs = a + rows[:, None] * length + depths
    b_ptrs = b + columns[:, None] * length + depths
    mine = times + gl.program_id(0) * steps * 8
    for i in gl.static_range(STAGES - 1):
        load_tiles(a_ptrs + i * BK, b_ptrs + i * BK, a_tiles.index(i), b_tiles.index(i))
    a_ptrs += (STAGES - 1) * BK
    b_ptrs += (STAGES - 1) * BK
    acc = gl.zeros((BM, BN), gl.float32, LAYOUT)
    for step in range(steps):
        index = step % STAGES
        async_copy.wait_group(STAGES - 2)
        fence_async_shared()
        gl.thread_barrier()
        note_next(mine, step, 0)
        acc = warpgroup_mma(a_tiles.index(index), b_tiles.index(index).permute((1, 0)), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=(acc,))
        note_next(mine, step, 1)
        gl.thread_barrier()
        last = (step + STAGES - 1) % STAGES
        load_tiles(a_ptrs, b_ptrs, a_tiles.index(last), b_tiles.index(last))
        note_next(mine, step, 2)
        a_ptrs += BK
        b_ptrs += BK
    acc = warpgroup_mma_wait(0, deps=(acc,))
    async_copy.wait_group(0)
    keep(c, acc, LAYOUT)


def _launches() -> Iterator[tuple[str, Any, dict[str, int], tuple[torch.dtype, torch.dtype]]]:
    """Yield name, kernel, config, and the types of A and B."""
    for name, kernel, config in (
        ("pointers-32-deep", pointers, tile(128, 128, 32, 4, 4)),
        ("pointers-32-deep-64", pointers, tile(64, 128, 32, 4, 3)),
        ("descriptors-32-deep", descriptors, tile(128, 128, 32, 4, 3)),
        ("descriptors-128-deep", descriptors, tile(128, 128, 128, 8, 3)),
        ("specialized-stages4", specialized, tile(128, 128, 64, 4, 4)),
        ("specialized-64-stages4", specialized, tile(64, 128, 64, 4, 4)),
        ("specialized-wide-stages3", specialized, tile(128, 256, 64, 8, 3)),
        ("masked-stages3", masked, tile(128, 128, 64, 4, 3)),
        ("masked-64-stages4", masked, tile(64, 128, 64, 4, 4)),
        ("normalized-stages3", normalized, tile(128, 128, 64, 8, 3)),
        ("convolution-stages3", convolution, tile(128, 64, 64, 4, 3)),
        ("split-stages4", split, tile(128, 128, 64, 8, 4)),
        ("attention-64-stages2", attention, tile(128, 64, 64, 8, 2)),
        ("attention-64-stages3", attention, tile(128, 64, 64, 4, 3)),
        ("attention-64-wide", attention, tile(128, 128, 64, 8, 3)),
        ("causal-64-stages3", causal, tile(128, 64, 64, 8, 3)),
        ("causal-128-stages2", causal, tile(128, 64, 128, 8, 2)),
    ):
        yield name, kernel, config, HALVES
    yield "eights-stages3", pointers, tile(128, 128, 128, 4, 3), EIGHTS
    yield "eights-wide-stages3", descriptors, tile(128, 256, 128, 8, 3), EIGHTS
    yield "dequantized-stages3", dequantized, tile(128, 128, 64, 8, 3), (torch.float16, torch.int8)


def main() -> None:
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    if sys.argv[1:] == ["--second"]:
        _print_second()
        return
    for name, kernel, config, types in _launches():
        try:
            cycles = {n: cycles_of(kernel, config, n, types) for n in (SHORT, LONG)}
        except Exception as error:  # noqa: BLE001 - the other loops can be measured
            print(json.dumps({"name": name, "error": f"{type(error).__name__}: {error}"[:200]}), flush=True)
            continue
        period = (cycles[LONG] - cycles[SHORT]) / (LONG - SHORT)
        measured = {"name": name, "kernel": kernel.__name__, "config": config, "cycles": round(period, 1)}
        print(json.dumps(measured), flush=True)
    for rows, columns, stages in ((128, 128, 2), (128, 128, 3), (128, 128, 4), (64, 128, 3), (128, 256, 3)):
        print(json.dumps(_timed(rows, columns, stages)), flush=True)


def _print_second() -> None:
    """Print the times of further products, and of loops that found their data in L2."""
    cold = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    config = tile(128, 64, 64, 8, 2)
    cycles = {n: cycles_of(attention, config, n, before=cold.zero_) for n in (SHORT, LONG)}
    period = (cycles[LONG] - cycles[SHORT]) / (LONG - SHORT)
    measured = {"name": "attention-64-stages2-cold", "kernel": "attention", "config": config}
    print(json.dumps(measured | {"cycles": round(period, 1)}), flush=True)
    print(
        json.dumps(_timed(64, 128, 3, before=cold.zero_) | {"name": "timed-64x128-stages3-cold"}), flush=True
    )
    for name, kernel, shape, stages in (
        ("deep", timed, (128, 128, 128), 2),
        ("small", timed, (64, 64, 64), 4),
        ("copiers", timed_copiers, (128, 128, 64), 3),
        ("halves", timed_halves, (128, 128, 64), 3),
        ("groups", timed_groups, (128, 128, 64), 4),
    ):
        times = _second(kernel, shape, stages, cold.zero_)
        print(json.dumps({"name": f"{name}-stages{stages}", "kernel": kernel.__name__, **times}), flush=True)


def _second(
    kernel: Any, shape: tuple[int, int, int], stages: int, before: Callable[[], object]
) -> dict[str, Any]:
    """Launch a product of tiles of rows, columns and depth; return the times of its middle iterations."""
    rows, columns, depth = shape
    length = (TIMED + stages) * depth
    a = torch.randn(16 * rows, length, device="cuda", dtype=torch.float16)
    b = torch.randn(8 * columns, length, device="cuda", dtype=torch.float16)
    c = torch.empty(PROGRAMS * rows * columns, device="cuda")
    times = torch.zeros(PROGRAMS, TIMED, 5 if kernel is timed else 8, dtype=torch.int64, device="cuda")
    tiles = gl.NVMMASharedLayout.get_default_for([rows, depth], gl.float16)
    options = {"STAGES": stages, "LAYOUT": gl.NVMMADistributedLayout([3, 0], [4, 1], [16, columns, 16])}
    if kernel is timed_groups:
        options |= {"length": length, "BM": rows, "BN": columns, "BK": depth, "TILES": tiles}
        tensors = (a, b)
    else:
        height = rows // 2 if kernel is timed_halves else rows
        tensors = (
            TensorDescriptor.from_tensor(a, [height, depth], tiles),
            TensorDescriptor.from_tensor(b, [columns, depth], tiles),
        )
    for _ in range(5):
        before()
        kernel[(PROGRAMS,)](*tensors, c, times, TIMED, **options, num_warps=4)
        torch.cuda.synchronize()
    return {"config": {"STAGES": stages, "tile": shape}, **_median(times, 1)}


def _timed(
    rows: int, columns: int, stages: int, before: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """Launch the timed product; return its times of the middle iterations, from the first of them on."""
    depth, warps = 64, 4 if columns < 256 else 8
    layout = gl.NVMMASharedLayout.get_default_for([rows, depth], gl.float16)
    a = torch.randn(16 * rows, TIMED * depth, device="cuda", dtype=torch.float16)
    b = torch.randn(8 * columns, TIMED * depth, device="cuda", dtype=torch.float16)
    c = torch.empty(PROGRAMS * rows * columns, device="cuda")
    times = torch.zeros(PROGRAMS, TIMED, len(EVENTS), dtype=torch.int64, device="cuda")
    product = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, columns, 16])
    a_desc = TensorDescriptor.from_tensor(a, [rows, depth], layout)
    b_desc = TensorDescriptor.from_tensor(b, [columns, depth], layout)
    for _ in range(5):
        before()
        timed[(PROGRAMS,)](a_desc, b_desc, c, times, TIMED, STAGES=stages, LAYOUT=product, num_warps=warps)
        torch.cuda.synchronize()
    return {
        "name": f"timed-{rows}x{columns}-stages{stages}",
        "kernel": "timed",
        "config": {"STAGES": stages, "num_warps": warps, "rows": rows, "columns": columns},
        **_median(times, 4),
    }


def _median(times: torch.Tensor, event: int) -> dict[str, Any]:
    """Return the cycles of the median program from `event` to the next one, and its times of all events."""
    seen = times.cpu()[:, 16:-16]
    cycles = seen[:, -1, event] - seen[:, 0, event]
    middle = int(cycles.argsort()[PROGRAMS // 2])
    return {
        "cycles": round(float(cycles[middle]) / (seen.shape[1] - 1), 1),
        "events": (seen[middle] - seen[middle, 0].min())[:16].tolist(),
    }


if __name__ == "__main__":
    main()
