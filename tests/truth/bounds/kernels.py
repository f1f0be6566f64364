"""Kernels that access what is no part of their tensors; a comment with a rule marks the reported line."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.races.case import Case, case


@triton.jit
def swapped_strides(x, out, M, N, sm, sn, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    inside = (m[:, None] < M) & (n[None, :] < N)
    value = tl.load(x + m[:, None] * sm + n[None, :] * sn, mask=inside)
    tl.store(out + m[:, None] * sn + n[None, :] * sm, value, mask=inside)  # IRS321


@triton.jit
def swapped_bounds(x, out, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    inside = (m[:, None] < N) & (n[None, :] < M)
    value = tl.load(x + m[:, None] * N + n[None, :], mask=inside)  # IRS321
    tl.store(out + m[:, None] * N + n[None, :], value, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def mask_of_rows_only(x, out, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.arange(0, B)
    value = tl.load(x + m[:, None] * N + n[None, :], mask=m[:, None] < M)  # IRS321
    tl.store(out + m[:, None] * N + n[None, :], value, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def bound_is_inclusive(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < N)
    tl.store(out + i, value, mask=i <= N)  # IRS321


@triton.jit
def stencil_before_start(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    left = tl.load(x + i - 1, mask=i < N)  # IRS321
    tl.store(out + i, left, mask=i < N)


@triton.jit
def stencil_past_end(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    right = tl.load(x + i + 1, mask=i < N)  # IRS321
    tl.store(out + i, right, mask=i < N)


@triton.jit
def last_k_block(a, out, M, K, BM: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM,), tl.float32)
    for start in range(0, K, BK):
        acc += tl.sum(tl.load(a + m[:, None] * K + start + k[None, :], mask=m[:, None] < M), axis=1)  # IRS321
    tl.store(out + m, acc, mask=m < M)


@triton.jit
def mask_before_shift(x, out, N, shift, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < N
    tl.store(out + i + shift, tl.load(x + i, mask=inside), mask=inside)  # IRS321


@triton.jit
def pad_row_to_block(x, out, N, stride, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    value = tl.load(x + row * N + i, mask=i < stride)  # IRS321
    tl.store(out + row * N + i, value, mask=i < N)


@triton.jit
def bound_of_other_tensor(x, y, out, NX, NY, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < NX)
    other = tl.load(y + i, mask=i < NX)  # IRS321
    tl.store(out + i, value + other, mask=i < NX)


@triton.jit
def block_twice(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B * 2 + tl.arange(0, B)
    tl.store(out + i, tl.load(x + tl.arange(0, B)), mask=tl.arange(0, B) < N)  # IRS321


@triton.jit
def overflow(x, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)  # IRS208
    tl.store(x + i, 1, mask=i < N)


@triton.jit
def overflow_of_rows(x, stride, N, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    tl.store(x + row * stride + i, 1, mask=i < N)  # IRS208


@triton.jit
def stride_of_a_view(vals, bins, out, L, SV, SB, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(vals + i * SV, mask=i < L, other=0.0)
    b = tl.load(bins + i * SB, mask=i < L, other=-1.0)  # IRS321
    tl.store(out + i, v * b, mask=i < L)


@triton.jit
def mask_not_passed(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    acc = tl.load(x + (rm % M)[:, None] * N + (rn % N)[None, :])
    acc = tl.where(mask, acc, 0.0)
    tl.store(out + rm[:, None] * N + rn[None, :], acc)  # IRS207


@triton.jit
def no_mask(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < N))  # IRS207


@triton.jit
def grid_too_large(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i))  # IRS207


@triton.jit
def batch_stride_of_other(x, out, S, D, B: tl.constexpr):
    batch, row = tl.program_id(1), tl.program_id(0)
    i = tl.arange(0, B)
    value = tl.load(x + batch * S * D + row * D + i, mask=i < D)
    tl.store(out + batch * S * D * 2 + row * D + i, value, mask=i < D)  # IRS321


@triton.jit
def heads_of_grouped_attention(q, k, out, H, HK, D, B: tl.constexpr):
    head = tl.program_id(0)
    i = tl.arange(0, B)
    query = tl.load(q + head * D + i, mask=i < D)
    key = tl.load(k + head * D + i, mask=i < D)  # IRS321
    tl.store(out + head * D + i, query * key, mask=i < D)


@triton.jit
def bytes_for_elements(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i * 4, tl.load(x + i, mask=i < N), mask=i < N)  # IRS321


@triton.jit
def transposed_out(x, out, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    inside = (m[:, None] < M) & (n[None, :] < N)
    value = tl.load(x + m[:, None] * N + n[None, :], mask=inside)
    tl.atomic_add(out + n[None, :] * N + m[:, None], value, mask=inside)  # IRS321


@triton.jit
def convolution_without_padding(x, w, out, N, W: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for tap in range(W):
        acc += tl.load(x + i - tap, mask=i < N, other=0.0) * tl.load(w + tap)  # IRS321
    tl.store(out + i, acc, mask=i < N)


# Correct kernels.


@triton.jit
def masked_copy(x, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < N), mask=i < N)


@triton.jit
def padded_convolution(x, w, out, N, W: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for tap in range(W):
        acc += tl.load(x + i - tap, mask=(i < N) & (i >= tap), other=0.0) * tl.load(w + tap)
    tl.store(out + i, acc, mask=i < N)


@triton.jit
def strided_copy(x, out, M, N, sm, sn, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    inside = (m[:, None] < M) & (n[None, :] < N)
    value = tl.load(x + m[:, None] * sm + n[None, :] * sn, mask=inside)
    tl.store(out + m[:, None] * N + n[None, :], value, mask=inside)


@triton.jit
def wide_offsets(x, N, B: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    tl.store(x + i, 1, mask=i < N)


HUGE = (torch.int8, 2**31 + 4096)
CASES: list[Case] = [
    case(swapped_strides, (2, 5), (50, 150), (50, 150), 50, 150, 150, 1, B=32),
    case(swapped_bounds, (5, 5), (50, 150), (50, 150), 50, 150, B=32),
    case(mask_of_rows_only, (2,), (50, 50), (50, 50), 50, 50, B=64),
    case(bound_is_inclusive, (2,), (100,), (100,), 100, B=64),
    case(stencil_before_start, (2,), (100,), (100,), 100, B=64),
    case(stencil_past_end, (2,), (100,), (100,), 100, B=64),
    case(last_k_block, (2,), (64, 100), (64,), 64, 100, BM=32, BK=64),
    case(mask_before_shift, (2,), (100,), (100,), 100, 3, B=64),
    case(pad_row_to_block, (4,), (4, 50), (4, 50), 50, 64, B=64),
    case(bound_of_other_tensor, (2,), (100,), (60,), (100,), 100, 60, B=64),
    case(block_twice, (2,), (64,), (128,), 64, B=64),
    case(overflow, (2**21 + 4,), HUGE, 2**31 + 4096, B=1024),
    case(overflow_of_rows, (70_000,), (torch.int8, 70_000, 32_768), 32_768, 32_768, B=32_768),
    case(stride_of_a_view, (1,), (4,), (5,), (4,), 4, 1, 2, B=8, source="triton#10336"),
    case(mask_not_passed, (2, 2), (50, 70), (50, 70), 50, 70, BM=32, BN=64, source="flash-attention#2789"),
    case(no_mask, (2,), (100,), (100,), 100, B=64),
    case(grid_too_large, (3,), (128,), (128,), B=64),
    case(batch_stride_of_other, (4, 2), (2, 4, 50), (2, 4, 50), 4, 50, B=64),
    case(heads_of_grouped_attention, (8,), (8, 64), (2, 64), (8, 64), 8, 2, 64, B=64),
    case(bytes_for_elements, (2,), (100,), (100,), 100, B=64),
    case(transposed_out, (2, 5), (50, 150), (150, 50), 50, 150, B=32),
    case(convolution_without_padding, (2,), (100,), (4,), (100,), 100, W=4, B=64),
    case(masked_copy, (2,), (100,), (100,), 100, B=64),
    case(padded_convolution, (2,), (100,), (4,), (100,), 100, W=4, B=64),
    case(strided_copy, (2, 5), (50, 150), (50, 150), 50, 150, 150, 1, B=32),
    case(wide_offsets, (2**21 + 4,), HUGE, 2**31 + 4096, B=1024),
]
