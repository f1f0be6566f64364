"""Kernels whose counts per launch are known."""

import triton
import triton.language as tl


@triton.jit
def strided(x, y, n, STRIDE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i * STRIDE, mask=i < n), mask=i < n)


@triton.jit
def causal(x, y, B: tl.constexpr):
    program = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for at in range(0, program + 1):
        total += tl.load(x + at * B + tl.arange(0, B))
    tl.store(y + program * B + tl.arange(0, B), total)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None], other=0.0)
        total = tl.dot(x, tl.load(b + rk[:, None] * N + rn[None, :]), total)
    tl.store(c + rm[:, None] * N + rn[None, :], total, mask=(rm < M)[:, None])


@triton.jit
def described(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
    c.store([m, n], total.to(tl.float16))


@triton.jit
def gathered(table, index, y, C, B: tl.constexpr, W: tl.constexpr):
    rows = tl.load(index + tl.program_id(0) * B + tl.arange(0, B))
    columns = tl.arange(0, W)
    values = tl.load(table + rows[:, None] * C + columns[None, :])
    own = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + own[:, None] * C + columns[None, :], values)


@triton.jit
def gathered_columns(table, index, y, C, W: tl.constexpr):
    """Each row of programs gathers a row that data decides; the programs of the row share its columns."""
    row = tl.load(index + tl.program_id(1))
    columns = tl.program_id(0) * W + tl.arange(0, W)
    tl.store(y + tl.program_id(1) * C + columns, tl.load(table + row * C + columns))


@triton.jit
def added(table, index, C, B: tl.constexpr, SEM: tl.constexpr):
    """Adds to rows that data decides."""
    row = tl.load(index + tl.program_id(0))
    value = tl.full((B,), 1.0, tl.float32)
    tl.atomic_add(table + row * C + tl.arange(0, B), value, sem=SEM)


@triton.jit
def late(x, y, start, B: tl.constexpr):
    """The programs before `start` do nothing."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i >= start), mask=i >= start)
