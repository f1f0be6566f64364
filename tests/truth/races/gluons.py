"""Kernels in Gluon, which choose layouts themselves, with races."""

from __future__ import annotations

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from tests.truth.races.case import case


@gluon.jit
def two_layouts(x, buf, out, B: gl.constexpr, num_warps: gl.constexpr):
    # intel-xpu-backend#7962: one pointer, two encodings.
    one: gl.constexpr = gl.BlockedLayout([4], [32], [num_warps], [0])
    two: gl.constexpr = gl.BlockedLayout([1], [32], [num_warps], [0])
    i, j = gl.arange(0, B, one), gl.arange(0, B, two)
    gl.store(buf + i, gl.load(x + i))
    back = gl.load(buf + j)  # IRS301
    gl.store(out + j, back)


@gluon.jit
def scratch_of_a_sanitizer(x, scratch, out, B: gl.constexpr, num_warps: gl.constexpr):
    # triton#11459: every warp loads scratch memory that one thread stores next.
    row: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, num_warps], [1, 0])
    k = gl.arange(0, B, gl.SliceLayout(0, row))
    slot = gl.arange(0, 1, gl.SliceLayout(1, row))
    state = gl.load(scratch + slot[:, None] + k[None, :] * 0)
    gl.store(out + slot[:, None] * B + k[None, :], state + gl.load(x + slot[:, None] * B + k[None, :]))
    gl.store(scratch + slot, gl.sum(state, 1) * 0.0 + 1.0)
    again = gl.load(scratch + slot[:, None] + k[None, :] * 0)  # IRS301
    gl.store(x + slot[:, None] * B + k[None, :], again)


@gluon.jit
def swapped_warps(x, buf, out, B: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [num_warps], [0])
    i = gl.arange(0, B, layout)
    gl.store(buf + i, gl.load(x + i))
    gl.store(out + i, gl.load(buf + (i ^ 32)))  # IRS301


@gluon.jit
def converted_in_warp(x, buf, out, B: gl.constexpr, num_warps: gl.constexpr):
    # The conversion stays in a warp: it is no barrier.
    one: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [num_warps, 1], [1, 0])
    two: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [num_warps, 1], [1, 0])
    row, column = gl.arange(0, num_warps, gl.SliceLayout(1, one)), gl.arange(0, B, gl.SliceLayout(0, one))
    i = row[:, None] * B + column[None, :]
    gl.store(buf + i, gl.load(x + i))
    j = gl.convert_layout(i, two)
    other = gl.load(buf + (j ^ B))  # IRS301
    gl.store(out + j, other)


@gluon.jit
def every_program_stores(x, out, B: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [num_warps], [0])
    i = gl.arange(0, B, layout)
    value = gl.load(x + gl.program_id(0) * B + i)
    gl.store(out + i, value)  # IRS302


@gluon.jit
def lock_in_gluon(x, total, lock, B: gl.constexpr, num_warps: gl.constexpr):
    # triton#4504, #4542: a spin lock is released before all warps have stored.
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [num_warps], [0])
    i = gl.arange(0, B, layout)
    value = gl.load(x + gl.program_id(0) * B + i)
    while gl.atomic_cas(lock, 0, 1) == 1:
        pass
    gl.store(total + i, gl.load(total + i) + value)
    gl.atomic_xchg(lock, 0)  # IRS301


@gluon.jit
def tiles_with_half_stride(x, out, N, BM: gl.constexpr, BN: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [num_warps, 1], [1, 0])
    m = gl.program_id(0) * (BM // 2) + gl.arange(0, BM, gl.SliceLayout(1, layout))
    n = gl.arange(0, BN, gl.SliceLayout(0, layout))
    value = gl.load(x + gl.program_id(0) * BM * N + m[:, None] * N + n[None, :])
    gl.store(out + m[:, None] * N + n[None, :], value)  # IRS302


CASES = (
    case(two_layouts, (1,), (512,), (512,), (512,), B=512, num_warps=4,
         source="intel-xpu-backend-for-triton#7962"),
    case(scratch_of_a_sanitizer, (1,), (1, 128), (1,), (1, 128), B=128, num_warps=4,
         source="triton#11459"),
    case(swapped_warps, (1,), (256,), (256,), (256,), B=256, num_warps=4),
    case(converted_in_warp, (1,), (4, 64), (4, 64), (4, 64), B=64, num_warps=4),
    case(every_program_stores, (4,), (4, 512), (512,), B=512, num_warps=4),
    case(lock_in_gluon, (4,), (4, 512), (512,), (torch.int32, 1), B=512, num_warps=4,
         source="triton#4542"),
    case(tiles_with_half_stride, (4,), (256, 64), (256, 64), 64, BM=32, BN=64, num_warps=4),
)  # fmt: skip
