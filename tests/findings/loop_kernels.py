"""Kernels with loops, for test_loops_compiled.py; compiled for several targets, never run."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BLOCK_K)):  # loop of matmul
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@triton.jit
def persistent(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(N, BLOCK_N)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * tiles_n, 132):  # outer loop of persistent
        offs_m = tile // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = tile % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
        offs_k = tl.arange(0, BLOCK_K)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):  # inner loop of persistent
            a = tl.load(a_ptr + offs_m[:, None] * stride_am + (k + offs_k)[None, :])
            b = tl.load(b_ptr + (k + offs_k)[:, None] * stride_bk + offs_n[None, :])
            acc = tl.dot(a, b, acc)
        c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
        tl.store(c_ptrs, acc.to(tl.float16))


@triton.jit
def unrolled(x_ptr, out_ptr, n, BLOCK: tl.constexpr, FACTOR: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in tl.range(0, n, BLOCK, loop_unroll_factor=FACTOR):  # loop of unrolled
        offsets = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(acc, 0))


@triton.jit
def scaled(x_ptr, scale_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):  # loop of scaled
        scale = tl.load(scale_ptr + start)
        acc += tl.load(x_ptr + start + tl.arange(0, BLOCK)) * scale
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def counted(x_ptr, out_ptr, BLOCK: tl.constexpr, TIMES: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(TIMES):  # loop of counted
        acc += tl.load(x_ptr + (row * TIMES + i) * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + row * BLOCK + tl.arange(0, BLOCK), acc)


@triton.jit
def searching(x_ptr, out_ptr, n):
    i = tl.load(x_ptr + tl.program_id(0))
    found = 0
    while i < n:  # loop of searching
        i = i * 2 + 1
        found += tl.load(x_ptr + i)
    tl.store(out_ptr + tl.program_id(0), found)
