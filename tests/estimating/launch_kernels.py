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


@triton.jit
def expert_rows(
    a, b, c, slots, experts, padded, N, K, valid, BM: tl.constexpr, BN: tl.constexpr, W: tl.constexpr
):
    """Programs beyond the padded slots end; others gather the rows of their slots, and read their expert."""
    row, column = tl.program_id(0), tl.program_id(1)
    if row * BM >= tl.load(padded):
        return
    slot = tl.load(slots + row * BM + tl.arange(0, BM))
    used = (slot < valid)[:, None]
    weights = b + tl.load(experts + row) * N * K + (column * BN + tl.arange(0, BN))[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, W):
        rk = k + tl.arange(0, W)
        x = tl.load(a + slot[:, None] * K + rk[None, :], mask=used, other=0.0)
        total = tl.dot(x, tl.load(weights + rk[:, None] * N), total)
    tl.store(c + slot[:, None] * N + (column * BN + tl.arange(0, BN))[None, :], total, mask=used)


@triton.jit
def ragged_sum(x, starts, y, B: tl.constexpr):
    """A program per sequence: as many iterations as its length needs."""
    own = tl.program_id(0)
    start, end = tl.load(starts + own), tl.load(starts + own + 1)
    total = tl.zeros((B,), tl.float32)
    for i in range(start, end, B):
        at = i + tl.arange(0, B)
        total += tl.load(x + at, mask=at < end, other=0.0)
    tl.store(y + own * B + tl.arange(0, B), total)


@triton.jit
def paged_sum(pool, pages, y, COUNT: tl.constexpr, W: tl.constexpr):
    """Adds the pages that the program's row of a table names."""
    total = tl.zeros((W,), tl.float32)
    for i in range(COUNT):
        page = tl.load(pages + tl.program_id(0) * COUNT + i)
        total += tl.load(pool + page * W + tl.arange(0, W))
    tl.store(y + tl.program_id(0) * W + tl.arange(0, W), total)
