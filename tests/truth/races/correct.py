"""Kernels without races that look like those of the other modules: nothing may be reported."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.races.case import case


@triton.jit
def barrier_between(x, buf, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(buf + i, tl.load(x + i))
    tl.debug_barrier()
    tl.store(out + i, tl.load(buf + (i + 1) % B))


@triton.jit
def same_thread_reads_back(x, buf, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(buf + i, tl.load(x + i))
    tl.store(out + i, tl.load(buf + i))


@triton.jit
def reduction_between(x, buf, out, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.store(buf + i, value)
    total = tl.sum(value)
    tl.store(out + i, tl.load(buf + (i + 1) % B) + total)


@triton.jit
def in_place(x, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < N) * 2, mask=i < N)


@triton.jit
def in_place_softmax(x, N, B: tl.constexpr):
    i = tl.arange(0, B)
    row = x + tl.program_id(0) * N + i
    value = tl.exp(tl.load(row, mask=i < N, other=float("-inf")))
    tl.store(row, value / tl.sum(value), mask=i < N)


@triton.jit
def lock_with_barrier(x, total, lock, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + tl.program_id(0) * B + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total + i, tl.load(total + i) + value)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def last_program_sums(x, partial, counter, out, P, B: tl.constexpr, R: tl.constexpr):
    pid = tl.program_id(0)
    part = tl.sum(tl.load(x + pid * B + tl.arange(0, B)))
    tl.store(partial + pid, part)
    tl.debug_barrier()
    ticket = tl.atomic_add(counter, 1)
    if ticket == P - 1:
        r = tl.arange(0, R)
        tl.store(out, tl.sum(tl.load(partial + r, mask=r < P, other=0.0)))


@triton.jit
def look_back(x, flags, values, out, B: tl.constexpr):
    pid = tl.program_id(0)
    total = tl.sum(tl.load(x + pid * B + tl.arange(0, B)))
    if pid > 0:
        while tl.atomic_add(flags + pid - 1, 0) == 0:
            pass
        total += tl.load(values + pid - 1)
    tl.store(values + pid, total)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 1)
    tl.store(out + pid, total)


@triton.jit
def split_k_atomics(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(out + i, tl.load(x + tl.program_id(0) * B + i))


@triton.jit
def equal_values(x, out, B: tl.constexpr):
    # All programs of a row store the same sum.
    value = tl.sum(tl.load(x + tl.program_id(0) * B + tl.arange(0, B)))
    tl.store(out + tl.program_id(0), value)


@triton.jit
def same_constant(done, out, B: tl.constexpr):
    tl.store(done, 1)
    tl.store(out + tl.program_id(0) * B + tl.arange(0, B), 0.0)


@triton.jit
def grouped_order(x, out, M, N, G: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, B), tl.cdiv(N, B)
    width = G * columns
    first = (pid // width) * G
    size = min(rows - first, G)
    m = (first + (pid % width) % size) * B + tl.arange(0, B)
    n = ((pid % width) // size) * B + tl.arange(0, B)
    place = m[:, None] * N + n[None, :]
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(out + place, tl.load(x + place, mask=mask), mask=mask)


@triton.jit
def persistent(x, out, TILES, B: tl.constexpr):
    for tile in range(tl.program_id(0), TILES, tl.num_programs(0)):
        i = tile * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i))


CASES = (
    case(barrier_between, (1,), (512,), (512,), (512,), B=512),
    case(same_thread_reads_back, (1,), (512,), (512,), (512,), B=512),
    case(reduction_between, (1,), (512,), (512,), (512,), B=512),
    case(in_place, (4,), (1000,), 1000, B=256),
    case(in_place_softmax, (4,), (4, 200), 200, B=256),
    case(lock_with_barrier, (4,), (4, 1024), (1024,), (torch.int32, 1), B=1024),
    case(last_program_sums, (8,), (8, 256), (8,), (torch.int32, 1), (1,), 8, B=256, R=8),
    case(look_back, (8,), (8, 256), (torch.int32, 8), (8,), (8,), B=256),
    case(split_k_atomics, (8,), (8, 256), (256,), B=256),
    case(equal_values, (8, 4), (8, 256), (8,), B=256),
    case(same_constant, (8,), (torch.int32, 1), (8, 64), B=64),
    case(grouped_order, (20,), (80, 64), (80, 64), 80, 64, G=3, B=16),
    case(persistent, (4,), (19, 256), (19, 256), 19, B=256),
)
