"""Kernels in which programs of one launch race for an address."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.races.case import case


@triton.jit
def missing_program_id(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + tl.program_id(0) * B + i))  # IRS302


@triton.jit
def half_the_block(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * (B // 2) + tl.arange(0, B)
    value = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.store(out + i, value, mask=i < N)  # IRS302


@triton.jit
def sum_without_atomics(x, out, B: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * B + tl.arange(0, B)))
    tl.store(out, tl.load(out) + part)  # IRS302


@triton.jit
def bias_gradient(dy, db, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(dy + m[:, None] * N + n[None, :])
    tl.store(db + n, tl.sum(tile, axis=0))  # IRS302


@triton.jit
def same_id_twice(x, out, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.program_id(1)
    value = tl.load(x + k) + m[:, None] * 0.0 + n[None, :] * 0.0
    tl.store(out + m[:, None] * N + n[None, :], value)  # IRS302


@triton.jit
def missing_batch_stride(x, out, M, N, B: tl.constexpr):
    batch, row = tl.program_id(1), tl.program_id(0)
    i = tl.arange(0, B)
    value = tl.load(x + batch * M * N + row * N + i, mask=i < N)
    tl.store(out + row * N + i, value, mask=i < N)  # IRS302


@triton.jit
def split_k_store(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    k = tl.program_id(0) * BK + tl.arange(0, BK)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * BN + n[None, :])
    tl.store(c + m[:, None] * BN + n[None, :], tl.dot(left, right))  # IRS302


@triton.jit
def stride_of_other_axis(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    value = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * BN + n[None, :], value)  # IRS302


@triton.jit
def halo_in_place(x, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    right = tl.load(x + i + B, mask=i + B < N, other=0.0)
    tl.store(x + i, right * 0.5)  # IRS302


@triton.jit
def first_program_initializes(x, total, out, B: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    if pid == 0:
        tl.store(total + i, tl.load(x + i))
    tl.store(out + pid * B + i, tl.load(total + i))  # IRS302


@triton.jit
def zeroed_while_added(x, total, B: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    if pid == 0:
        tl.store(total + i, tl.zeros([B], tl.float32))
    tl.atomic_add(total + i, tl.load(x + pid * B + i))  # IRS302


@triton.jit
def owned_rows(x, dx, T, BS, BT: tl.constexpr, D: tl.constexpr):
    # fla#1249: a program owns BS rows, but stores a tile of BT rows.
    row = tl.program_id(0) * BS + tl.arange(0, BT)
    d = tl.arange(0, D)
    value = tl.load(x + row[:, None] * D + d[None, :], mask=row[:, None] < T, other=0.0)
    scale = tl.sum(value, axis=0)
    tl.store(dx + row[:, None] * D + d[None, :], value * scale[None, :], mask=row[:, None] < T)  # IRS302


@triton.jit
def weight_gradient(x, dw, M, N, B: tl.constexpr):
    # Liger and others keep one partial sum per program: here all programs share it.
    row = tl.program_id(0)
    i = tl.arange(0, B)
    value = tl.load(x + row * N + i, mask=i < N, other=0.0)
    partial = tl.load(dw + i, mask=i < N, other=0.0)
    tl.store(dw + i, partial + value, mask=i < N)  # IRS302


@triton.jit
def grouped_heads(q, dk, H: tl.constexpr, G: tl.constexpr, D: tl.constexpr):
    # Gradients of grouped-query attention: G query heads share a key head.
    head = tl.program_id(0)
    d = tl.arange(0, D)
    value = tl.load(q + head * D + d)
    tl.store(dk + (head // G) * D + d, value)  # IRS302


@triton.jit
def causal_conv_state(x, state, out, N, W: tl.constexpr, B: tl.constexpr):
    # The state of a convolution is updated in place while the program before it still reads it.
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    old = tl.load(state + pid * B + i + W, mask=pid * B + i + W < N, other=0.0)
    tl.store(out + pid * B + i, old)
    tl.store(state + pid * B + i, tl.load(x + pid * B + i))  # IRS301 IRS302


@triton.jit
def stream_k_without_lock(a, partial, c, TILES, B: tl.constexpr):
    # triton#10594: the owner of a tile adds what another program stores, without waiting for it.
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    value = tl.load(a + pid * B + i)
    if pid % 2 == 1:
        tl.store(partial + (pid // 2) * B + i, value)
    else:
        other = tl.load(partial + (pid // 2) * B + i)  # IRS302
        tl.store(c + (pid // 2) * B + i, value + other)


@triton.jit
def scalar_counter(counter, out, B: tl.constexpr):
    slot = tl.load(counter)
    tl.store(counter, slot + 1)  # IRS301 IRS302
    tl.store(out + tl.program_id(0) * B + tl.arange(0, B), slot)


@triton.jit
def persistent_overlap(x, out, TILES, B: tl.constexpr):
    # A persistent loop that advances by one less than the number of programs.
    for tile in range(tl.program_id(0), TILES, tl.num_programs(0) - 1):
        i = tile * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i) * (tl.program_id(0) + 1))  # IRS302


CASES = (
    case(missing_program_id, (8,), (8, 256), (256,), B=256),
    case(half_the_block, (4,), (4, 256), (1024,), 1024, B=256),
    case(sum_without_atomics, (8,), (8, 256), (1,), B=256),
    case(bias_gradient, (4, 2), (128, 128), (128,), 128, 128, BM=32, BN=64),
    case(same_id_twice, (4, 4), (16,), (64, 256), 256, BM=16, BN=64),
    case(missing_batch_stride, (8, 4), (4, 8, 200), (8, 200), 8, 200, B=256),
    case(split_k_store, (4,), (16, 64), (64, 16), (16, 16), 64, BM=16, BN=16, BK=16),
    case(stride_of_other_axis, (2, 4), (64, 128), (64, 128), 64, 128, BM=32, BN=32),
    case(halo_in_place, (4,), (1024,), 1024, B=256),
    case(first_program_initializes, (4,), (256,), (256,), (4, 256), B=256),
    case(zeroed_while_added, (4,), (4, 256), (256,), B=256),
    case(owned_rows, (4,), (16, 64), (16, 64), 16, 4, BT=8, D=64,
         source="fla#1249"),
    case(weight_gradient, (8,), (8, 200), (200,), 8, 200, B=256,),
    case(grouped_heads, (8,), (8, 64), (2, 64), H=8, G=4, D=64),
    case(causal_conv_state, (4,), (1024,), (1024,), (1024,), 1024, W=4, B=256),
    case(stream_k_without_lock, (8,), (8, 256), (4, 256), (4, 256), 4, B=256,
         source="triton#10594"),
    case(scalar_counter, (4,), (torch.int32, 1), (torch.int32, 4, 64), B=64),
    case(persistent_overlap, (4,), (16, 256), (16, 256), 16, B=256),
)  # fmt: skip
