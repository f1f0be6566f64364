"""Kernels in which threads of one program race: no barrier is between a store and what another one does."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.races.case import case

_HALF = torch.float16


@triton.jit
def neighbor_read_back(x, buf, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(buf + i, tl.load(x + i, mask=i < N) * 2, mask=i < N)
    j = tl.program_id(0) * B + (tl.arange(0, B) + 1) % B
    tl.store(out + i, tl.load(buf + j, mask=j < N), mask=i < N)  # IRS301


@triton.jit
def half_block_shift(x, buf, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(buf + i, tl.load(x + i))
    shifted = tl.load(buf + (i + B // 2) % B)  # IRS301
    tl.store(out + i, shifted)


@triton.jit
def transpose_through_scratch(x, scratch, out, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(scratch + m[:, None] * N + n[None, :], tile)
    turned = tl.load(scratch + ((m[None, :] + 2) % M) * N + n[:, None])  # IRS301
    tl.store(out + n[:, None] * M + m[None, :], turned)


@triton.jit
def reversed_in_place(x, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + B - 1 - i)
    tl.store(x + i, value)  # IRS301


@triton.jit
def in_place_shift(x, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i + 1)
    tl.store(x + i, value)  # IRS301


@triton.jit
def jacobi_steps(x, B: tl.constexpr, STEPS: tl.constexpr):
    i = tl.arange(0, B)
    for _ in range(STEPS):
        left = tl.load(x + tl.maximum(i - 1, 0))  # IRS301
        right = tl.load(x + tl.minimum(i + 1, B - 1))  # IRS301
        tl.store(x + i, (left + right) * 0.5)  # IRS301


@triton.jit
def two_stores_of_one_place(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.store(out + i, value)
    tl.store(out + (i + 128) % B, value)  # IRS301


@triton.jit
def histogram_store(x, out, B: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.store(out + i % BINS, value)  # IRS301


@triton.jit
def ping_pong_in_one_buffer(x, buf, out, B: tl.constexpr, STEPS: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(buf + i, tl.load(x + i))
    for step in range(STEPS):
        value = tl.load(buf + ((step % 2) * B) + (i ^ 64))  # IRS301
        tl.store(buf + (((step + 1) % 2) * B) + i, value * 0.5)
    tl.store(out + i, tl.load(buf + i))


@triton.jit
def prefix_sum_by_doubling(x, B: tl.constexpr):
    i = tl.arange(0, B)
    step = 1
    while step < B:
        other = tl.load(x + i - step, mask=i >= step, other=0.0)  # IRS301
        tl.store(x + i, tl.load(x + i) + other)  # IRS301
        step *= 2


@triton.jit
def scalar_flag_read_back(x, flag, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(flag, tl.load(x))
    scale = tl.load(flag)  # IRS301
    tl.store(out + i, tl.load(x + i) * scale)


@triton.jit
def column_of_rows(x, buf, out, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    tl.store(buf + m[:, None] * N + n[None, :], tl.load(x + m[:, None] * N + n[None, :]))
    first = tl.load(buf + m * N)  # IRS301
    tl.store(out + m, first)


@triton.jit
def reduction_in_one_warp(x, buf, out, M: tl.constexpr, N: tl.constexpr):
    # The reduction stays in a warp: it has no barrier.
    m, n = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(buf + m, tl.sum(tile, axis=1))
    total = tl.load(buf + (m + 8) % M)  # IRS301
    tl.store(out + m, total)


@triton.jit
def two_loops(x, c, out, N, B: tl.constexpr):
    # triton#9887: the second loop reads what other warps store in the first.
    for start in range(0, N, B):
        i = start + tl.arange(0, B)
        value = tl.load(x + i)
        tl.store(c + i, tl.maximum(value, 0.0))
    for start in range(0, N, B // 8):
        i = start + tl.arange(0, B // 8)
        value = tl.load(c + i)  # IRS301
        tl.store(out + i, tl.sigmoid(value))


@triton.jit
def relu_then_reread(x, a, c, d, M: tl.constexpr, K: tl.constexpr):
    # triton#9887 with tiles of two dimensions: rows are read back by other warps.
    m, k = tl.arange(0, M), tl.arange(0, K)
    hidden = tl.load(x + m[:, None] * K + k[None, :]) + tl.load(a + k)[None, :]
    tl.store(c + m[:, None] * K + k[None, :], tl.maximum(hidden, 0.0).to(tl.float16))
    left = tl.load(c + ((m[:, None] + 4) % M) * K + k[None, :])  # IRS301
    tl.store(d + m[:, None] * K + k[None, :], left)


@triton.jit
def wide_store_narrow_load(x, buf, out, B: tl.constexpr):
    # triton#10924: the layouts of a store and of its read-back differ.
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.store(buf + i, value)
    pair = tl.arange(0, B // 2) * 2
    even = tl.load(buf + pair)  # IRS301
    odd = tl.load(buf + pair + 1)  # IRS301
    tl.store(out + tl.arange(0, B // 2), even + odd)


@triton.jit
def norm_then_reread(x, out, N, B: tl.constexpr):
    # pytorch#190519: a reduction loop stores a buffer, the next one reads it back with another layout.
    row = tl.program_id(0)
    for start in range(0, N, B):
        i = start + tl.arange(0, B)
        tl.store(out + row * N + i, tl.load(x + row * N + i, mask=i < N) * 2.0, mask=i < N)
    total = 0.0
    for start in range(0, N, B // 8):
        i = start + tl.arange(0, B // 8)
        back = tl.load(out + row * N + i, mask=i < N, other=0.0)  # IRS301
        total += tl.sum(back, axis=0)
    tl.store(x + row * N, total)


@triton.jit
def rope_after_norm(x, cos, D: tl.constexpr):
    # helion#3081: a head is normalized in place, and parts of it are loaded again with another shape.
    d, h = tl.arange(0, D), tl.arange(0, D // 2)
    head = tl.program_id(0) * D
    value = tl.load(x + head + d)
    tl.store(x + head + d, value * 0.5)
    low = tl.load(x + head + h)  # IRS301
    high = tl.load(x + head + D // 2 + h)  # IRS301
    factor = tl.load(cos + h)
    tl.store(x + head + h, low * factor - high)  # IRS301
    tl.store(x + head + D // 2 + h, high * factor + low)  # IRS301


@triton.jit
def cross_entropy_probabilities(logits, probs, labels, loss, N, B: tl.constexpr):
    # triton#1097: the probability of the label is read back right after the row was stored.
    row = tl.program_id(0)
    i = tl.arange(0, B)
    value = tl.load(logits + row * N + i, mask=i < N, other=0.0)
    tl.store(probs + row * N + i, value, mask=i < N)
    label = tl.load(probs + row * N)  # IRS301
    tl.store(loss + row, label)


@triton.jit
def flattened_read_back(ptr, diff, B: tl.constexpr):
    # triton#8259: a loop stores, and reads back what it stored one element further.
    i = tl.arange(0, B)
    for offset in tl.range(0, 4 * B, B):
        tl.store(ptr + offset + i, (offset + i).to(tl.float32))
        back = tl.load(ptr + offset + (i ^ (B // 2)))  # IRS301
        tl.store(diff + offset + i, back)


@triton.jit
def scratch_per_program(x, scratch, out, B: tl.constexpr):
    # triton#10055: scratch memory in global memory is written and read by a program without a barrier.
    base = scratch + tl.program_id(0) * B
    i = tl.arange(0, B)
    tl.store(base + i, tl.load(x + i))
    swapped = tl.load(base + (i ^ 32))  # IRS301
    tl.store(out + tl.program_id(0) * B + i, swapped)


@triton.jit
def broadcast_then_overwrite(x, stats, out, M: tl.constexpr, N: tl.constexpr):
    # triton#1615, pytorch#100769: every warp loads the statistics of a row, one of them overwrites these.
    m, n = tl.arange(0, M), tl.arange(0, N)
    mean = tl.load(stats + m)
    tile = tl.load(x + m[:, None] * N + n[None, :]) - mean[:, None]
    tl.store(out + m[:, None] * N + n[None, :], tile)
    tl.store(stats + m, mean * 2.0)  # IRS301


@triton.jit
def lock_without_barrier(x, total, lock, B: tl.constexpr):
    # triton#6307, tritonbench#1266: one thread releases the lock while others still store.
    i = tl.arange(0, B)
    value = tl.load(x + tl.program_id(0) * B + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total + i, tl.load(total + i) + value)
    tl.atomic_xchg(lock, 0)  # IRS301


@triton.jit
def embedding_var_mean(x, in_out, out, M: tl.constexpr, N: tl.constexpr):
    # pytorch#100769: a statistic that all warps have loaded is overwritten in place.
    m, n = tl.arange(0, M), tl.arange(0, N)
    scale = tl.load(in_out + m[:, None])
    tile = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tile * scale)
    tl.store(in_out + m[:, None], scale + 1.0)  # IRS301


@triton.jit
def read_back_with_other_layout(x, buf, out, M: tl.constexpr, N: tl.constexpr):
    # intel-xpu-backend-for-triton#7494: a buffer in half precision is read back as a column.
    m, n = tl.arange(0, M), tl.arange(0, N)
    tl.store(buf + m[:, None] * N + n[None, :], tl.load(x + m[:, None] * N + n[None, :]).to(tl.float16))
    column = tl.load(buf + m * N + N - 1)  # IRS301
    tl.store(out + m, column.to(tl.float32))


@triton.jit
def unlocked_by_add(x, total, lock, B: tl.constexpr):
    # triton#4504: another atomic operation that opens the lock.
    i = tl.arange(0, B)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total + i, tl.load(total + i) + tl.load(x + tl.program_id(0) * B + i))
    tl.atomic_add(lock, -1)  # IRS301


@triton.jit
def layer_norm_backward(dy, x, dw, db, lock, count, N, G: tl.constexpr, B: tl.constexpr):
    # tritonbench#1266: the tutorial's kernel without the barrier before the lock opens.
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < N
    group = row % G
    grad = tl.load(dy + row * N + i, mask=mask, other=0.0)
    value = tl.load(x + row * N + i, mask=mask, other=0.0)
    partial_dw, partial_db = grad * value, grad
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    if tl.load(count + group) == 0:
        tl.atomic_xchg(count + group, 1)
    else:
        partial_dw += tl.load(dw + group * N + i, mask=mask)
        partial_db += tl.load(db + group * N + i, mask=mask)
    tl.store(dw + group * N + i, partial_dw, mask=mask)
    tl.store(db + group * N + i, partial_db, mask=mask)
    tl.atomic_xchg(lock + group, 0)  # IRS301


@triton.jit
def cooperative_reduction(x, partial, semaphore, out, P: tl.constexpr, B: tl.constexpr):
    # pytorch#137756: a program tells the others that it has stored before all of its threads have.
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    tl.store(partial + pid * B + i, tl.load(x + pid * B + i))
    tl.atomic_add(semaphore, 1)  # IRS301
    while tl.atomic_add(semaphore, 0) < P:
        pass
    total = tl.zeros([B], tl.float32)
    for other in range(P):
        total += tl.load(partial + other * B + i)
    tl.store(out + pid * B + i, total)


CASES = (
    case(neighbor_read_back, (4,), (4096,), (4096,), (4096,), 4096, B=1024),
    case(half_block_shift, (1,), (512,), (512,), (512,), B=512, num_warps=8),
    case(transpose_through_scratch, (1,), (32, 64), (32, 64), (64, 32), M=32, N=64),
    case(reversed_in_place, (1,), (1024,), B=1024),
    case(in_place_shift, (1,), (2048,), B=1024),
    case(jacobi_steps, (1,), (512,), B=512, STEPS=3),
    case(two_stores_of_one_place, (1,), (512,), (512,), B=512),
    case(histogram_store, (1,), (512,), (16,), B=512, BINS=16),
    case(ping_pong_in_one_buffer, (1,), (256,), (512,), (256,), B=256, STEPS=4),
    case(prefix_sum_by_doubling, (1,), (256,), B=256),
    case(scalar_flag_read_back, (1,), (256,), (1,), (256,), B=256),
    case(column_of_rows, (1,), (64, 64), (64, 64), (64,), M=64, N=64),
    case(reduction_in_one_warp, (1,), (64, 32), (64,), (64,), M=64, N=32),
    case(two_loops, (1,), (4096,), (4096,), (4096,), 4096, B=2048,
         source="triton#9887"),
    case(relu_then_reread, (1,), (32, 64), (64,), (_HALF, 32, 64), (_HALF, 32, 64), M=32, K=64,
         source="triton#9887"),
    case(wide_store_narrow_load, (1,), (_HALF, 2048), (_HALF, 2048), (_HALF, 2048), B=2048,
         source="triton#10924"),
    case(norm_then_reread, (2,), (2, 4096), (2, 4096), 4096, B=2048,
         source="pytorch#190519"),
    case(rope_after_norm, (4,), (4, 512), (256,), D=512,
         source="helion#3081"),
    case(cross_entropy_probabilities, (4,), (4, 1000), (4, 1000), (4,), (4,), 1000, B=1024,
         source="triton#1097"),
    case(flattened_read_back, (1,), (2048,), (2048,), B=512, num_warps=8,
         source="triton#8259"),
    case(scratch_per_program, (4,), (512,), (4, 512), (4, 512), B=512,
         source="triton#10055"),
    case(broadcast_then_overwrite, (1,), (16, 128), (16,), (16, 128), M=16, N=128,
         source="triton#1615"),
    case(lock_without_barrier, (4,), (4, 1024), (1024,), (torch.int32, 1), B=1024,
         source="triton#6307"),
    case(embedding_var_mean, (1,), (16, 128), (16,), (16, 128), M=16, N=128, source="pytorch#100769"),
    case(read_back_with_other_layout, (1,), (64, 64), (_HALF, 64, 64), (64,), M=64, N=64,
         source="intel-xpu-backend-for-triton#7494"),
    case(unlocked_by_add, (4,), (4, 1024), (1024,), (torch.int32, 1), B=1024, source="triton#4504"),
    case(layer_norm_backward, (8,), (8, 1000), (8, 1000), (2, 1000), (2, 1000), (torch.int32, 2),
         (torch.int32, 2), 1000, G=2, B=1024, source="tritonbench#1266"),
    case(cooperative_reduction, (4,), (4, 1024), (4, 1024), (torch.int32, 1), (4, 1024), P=4, B=1024,
         source="pytorch#137756"),
)  # fmt: skip
