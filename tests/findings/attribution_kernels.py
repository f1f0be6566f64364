"""Kernels for test_attribution.py; compiled for several targets, never run."""

import triton
import triton.language as tl


@triton.jit
def step(acc, x, offs):
    return acc + tl.load(x + offs) * tl.load(x + offs + 4096)


@triton.jit
def nested(x, o, n, B: tl.constexpr):
    offs = tl.arange(0, B)
    for i in range(0, n, B):  # outer
        acc = tl.zeros([B], tl.float32)
        for j in range(n):
            acc = step(acc, x, offs * 4 + j * B)  # call
        tl.store(o + i + offs, acc)


@triton.jit
def gathered(x, index, o, SCALAR: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    first = tl.load(index + pid)
    offs = tl.arange(0, B)
    if SCALAR:
        value = tl.load(x + first)
        tl.store(o + pid * B + offs, offs + value)
    else:
        values = tl.load(x + first + offs)
        tl.store(o + pid * B + offs, values)


@triton.jit
def transposed(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, WS: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * tiles_n, 132, warp_specialize=WS):
        row = tile // tiles_n * BLOCK_M
        col = tile % tiles_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            a = a_desc.load([row, k])
            b = b_desc.load([col, k])  # load of b
            acc = tl.dot(a, b.T, acc)  # product
        c_desc.store([row, col], acc.to(tl.float16))


@triton.jit
def sorted_rows(x, o, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + offs, tl.sort(tl.load(x + offs)))


@triton.jit
def counted_values(x, o, B: tl.constexpr, BINS: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.atomic_add(o + tl.arange(0, BINS), tl.histogram(values, BINS))  # count


@triton.jit
def summed(x, o, B: tl.constexpr, STATIC: tl.constexpr):
    offs = tl.arange(0, B)
    acc = tl.zeros((B,), dtype=tl.float32)
    if STATIC:
        for i in tl.static_range(3):
            acc -= tl.load(x + i * B + offs)
    else:
        for i in range(3):
            acc += tl.load(x + i * B + offs)
    tl.store(o + offs, acc)
