"""Attention: forward with its loop in a helper, decoding, backward, and a paged cache."""

import triton
import triton.language as tl


@triton.jit
def attend(
    q,
    k_ptr,
    v_ptr,
    total,
    peak,
    sums,
    rows,
    low,
    high,
    length,
    D: tl.constexpr,
    N: tl.constexpr,
    MASKED: tl.constexpr,
):
    columns = tl.arange(0, D)
    for start in range(low, high, N):
        keys = start + tl.arange(0, N)
        k = tl.load(k_ptr + keys[None, :] * D + columns[:, None], mask=keys[None, :] < length, other=0.0)
        scores = tl.dot(q, k)
        if MASKED:
            scores = tl.where(rows[:, None] >= keys[None, :], scores, float("-inf"))
        new = tl.maximum(peak, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        scale = tl.exp2(peak - new)
        sums = sums * scale + tl.sum(p, 1)
        v = tl.load(v_ptr + keys[:, None] * D + columns[None, :], mask=keys[:, None] < length, other=0.0)
        total = tl.dot(p.to(v.dtype), v, total * scale[:, None])
        peak = new
    return total, peak, sums


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    block = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * length * D
    rows = block * M + tl.arange(0, M)
    columns = tl.arange(0, D)
    at = head + rows[:, None] * D + columns[None, :]
    q = tl.load(q_ptr + at, mask=rows[:, None] < length, other=0.0)
    q = (q * (scale * 1.44269504)).to(q.dtype)
    total = tl.zeros((M, D), dtype=tl.float32)
    peak = tl.full((M,), float("-inf"), tl.float32)
    sums = tl.zeros((M,), dtype=tl.float32)
    k_ptr += head
    v_ptr += head
    total, peak, sums = attend(
        q, k_ptr, v_ptr, total, peak, sums, rows, 0, block * M, length, D=D, N=N, MASKED=False
    )
    total, peak, sums = attend(
        q, k_ptr, v_ptr, total, peak, sums, rows, block * M, (block + 1) * M, length, D=D, N=N, MASKED=True
    )
    tl.store(out_ptr + at, (total / sums[:, None]).to(q.dtype), mask=rows[:, None] < length)


@triton.jit
def decode_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
    length,
    scale,
    SPLITS: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
):
    head, split = tl.program_id(0), tl.program_id(1)
    columns = tl.arange(0, D)
    q = tl.load(q_ptr + head * D + columns).to(tl.float32) * scale
    size = tl.cdiv(length, SPLITS)
    first = split * size
    last = tl.minimum(first + size, length)
    peak = float("-inf")
    sums = 0.0
    total = tl.zeros((D,), dtype=tl.float32)
    for start in range(first, last, N):
        keys = start + tl.arange(0, N)
        valid = keys < last
        at = (head * length + keys[:, None]) * D + columns[None, :]
        k = tl.load(k_ptr + at, mask=valid[:, None], other=0.0)
        scores = tl.where(valid, tl.sum(q[None, :] * k, 1), float("-inf"))
        new = tl.maximum(peak, tl.max(scores, 0))
        p = tl.exp(scores - new)
        v = tl.load(v_ptr + at, mask=valid[:, None], other=0.0)
        total = total * tl.exp(peak - new) + tl.sum(p[:, None] * v, 0)
        sums = sums * tl.exp(peak - new) + tl.sum(p, 0)
        peak = new
    tl.store(out_ptr + (head * SPLITS + split) * D + columns, total / sums)
    tl.store(lse_ptr + head * SPLITS + split, peak + tl.log(sums))


@triton.jit
def attention_backward_kernel(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, length, scale,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    keys = tl.program_id(0) * N + tl.arange(0, N)
    columns = tl.arange(0, D)
    at = keys[:, None] * D + columns[None, :]
    k = tl.load(k_ptr + at)
    v = tl.load(v_ptr + at)
    dk = tl.zeros((N, D), dtype=tl.float32)
    dv = tl.zeros((N, D), dtype=tl.float32)
    for start in range(0, length, M):
        rows = start + tl.arange(0, M)
        q = tl.load(q_ptr + rows[:, None] * D + columns[None, :])
        grad = tl.load(grad_ptr + rows[:, None] * D + columns[None, :])
        p = tl.exp2(tl.dot(q, tl.trans(k)) * scale - tl.load(lse_ptr + rows)[:, None])
        dv += tl.dot(tl.trans(p).to(grad.dtype), grad)
        dp = tl.dot(grad, tl.trans(v))
        ds = p * (dp - tl.load(delta_ptr + rows)[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q)
    tl.store(dk_ptr + at, (dk * scale).to(tl.float16))
    tl.store(dv_ptr + at, dv.to(tl.float16))


@triton.jit
def paged_gather_kernel(
    cache_ptr, table_ptr, out_ptr, length, blocks, BLOCK: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr
):
    sequence = tl.program_id(0)
    positions = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    valid = positions < length
    page = tl.load(table_ptr + sequence * blocks + positions // PAGE, mask=valid, other=0)
    columns = tl.arange(0, D)
    source = (page * PAGE + positions % PAGE)[:, None] * D + columns[None, :]
    values = tl.load(cache_ptr + source, mask=valid[:, None], eviction_policy="evict_first")
    target = (sequence * length + positions)[:, None] * D + columns[None, :]
    tl.store(out_ptr + target, values, mask=valid[:, None], cache_modifier=".cg")


CASES = [
    (
        "attention_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16",
        {"M": 64, "N": 32, "D": 64, "num_stages": 2},
    ),
    (
        "decode_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32, fp32",
        {"SPLITS": 8, "N": 64, "D": 64},
    ),
    (
        "attention_backward_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp16:16, *fp16:16, i32:16, fp32",
        {"M": 32, "N": 64, "D": 64, "num_stages": 1},
    ),
    (
        "paged_gather_kernel",
        "*bf16:16, *i32:16, *bf16:16, i32, i32",
        {"BLOCK": 32, "PAGE": 16, "D": 64},
    ),
]
