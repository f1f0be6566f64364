"""The kernels in which `planted_edits.py` plants edits, each with the signature that it is compiled for."""

from __future__ import annotations

import triton
import triton.language as tl

# Kernel -> the types of its run-time arguments in order, and its constants.
SPECS: dict[str, tuple[str, dict[str, int]]] = {
    "add": ("*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}),
    "softmax": ("*fp32 *fp32 i32 i32", {"BLOCK": 512}),
    "matmul": ("*fp16 *fp16 *fp32 i32 i32 i32 i32 i32 i32", {"M": 64, "N": 64, "K": 32}),
    "layer_norm": ("*fp32 *fp32 *fp32 *fp32 i32 fp32", {"BLOCK": 256}),
    "split_k": ("*fp16 *fp16 *fp32 i32 i32 i32", {"M": 32, "N": 32, "K": 32, "SPLIT": 4}),
    "attention": ("*fp16 *fp16 *fp16 *fp16 i32 fp32", {"M": 64, "N": 32, "D": 64}),
    "histogram": ("*i32 *i32 i32 i32", {"BLOCK": 512}),
    "cross_entropy": ("*fp32 *i64 *fp32 i32 fp32", {"BLOCK": 512}),
    "rope": ("*fp32 *fp32 *fp32 i32 i32", {"HALF": 64}),
    "dropout": ("*fp32 *fp32 i32 fp32 i32", {"BLOCK": 512}),
    "quantize": ("*fp32 *i8 *fp32 i32 i32", {"BLOCK": 256}),
    "scan_rows": ("*fp32 *fp32 i32 i32", {"BLOCK": 256}),
    "welford": ("*fp32 *fp32 *fp32 i32 i32", {"BLOCK": 256}),
}


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs, mask=mask, other=1.0)
    scaled = x * 0.5 - y
    tl.store(out_ptr + offs, scaled, mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=-float("inf"), eviction_policy="evict_first")
    x = x - tl.max(x, axis=0)
    numerator = tl.exp(x)
    denominator = tl.sum(numerator, axis=0)
    y = numerator / denominator
    tl.store(out_ptr + row * stride + cols, y, mask=mask, cache_modifier=".cs")


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_a, stride_b, stride_c,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * M + tl.arange(0, M)
    offs_n = pid_n * N + tl.arange(0, N)
    offs_k = tl.arange(0, K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_a + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * stride_b + offs_n[None, :]
    acc = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < k - start, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < k - start, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="tf32")
        a_ptrs += K
        b_ptrs += K * stride_b
    acc = acc * 2.0
    c_ptrs = c_ptr + offs_m[:, None] * stride_c + offs_n[None, :]
    tl.store(c_ptrs, acc, mask=(offs_m[:, None] < m) & (offs_n[None, :] < n))


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / n
    variance = tl.sum(squares, axis=0) / n - mean * mean
    inverse = 1.0 / tl.sqrt(variance + eps)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n
        w = tl.load(w_ptr + cols, mask=mask, eviction_policy="evict_last")
        b = tl.load(b_ptr + cols, mask=mask, eviction_policy="evict_last")
        x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
        y = (x - mean) * inverse * w + b
        tl.store(out_ptr + row * n + cols, y, mask=mask)


@triton.jit
def split_k(
    a_ptr, b_ptr, c_ptr, k, stride_a, stride_c,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    part = tl.program_id(1)
    offs_m = pid * M + tl.arange(0, M)
    offs_n = tl.arange(0, N)
    offs_k = part * K + tl.arange(0, K)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for start in tl.range(0, k, K * SPLIT, num_stages=2):
        a = tl.load(a_ptr + offs_m[:, None] * stride_a + offs_k[None, :] + start)
        b = tl.load(b_ptr + (offs_k[:, None] + start) * N + offs_n[None, :], cache_modifier=".cg")
        acc += tl.dot(a, b)
    tl.atomic_add(c_ptr + offs_m[:, None] * stride_c + offs_n[None, :], acc, sem="relaxed", scope="gpu")


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    offs_m = tl.program_id(0) * M + tl.arange(0, M)
    offs_n = tl.arange(0, N)
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :])
    highest = tl.full((M,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    acc = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, n, N):
        k = tl.load(k_ptr + (start + offs_n)[None, :] * D + offs_d[:, None])
        v = tl.load(v_ptr + (start + offs_n)[:, None] * D + offs_d[None, :])
        scores = tl.dot(q, k) * scale
        scores = tl.where(start + offs_n[None, :] < n, scores, -1.0e30)
        new = tl.maximum(highest, tl.max(scores, axis=1))
        p = tl.exp(scores - new[:, None])
        correction = tl.exp(highest - new)
        total = total * correction + tl.sum(p, axis=1)
        acc = acc * correction[:, None]
        acc = tl.dot(p.to(tl.float16), v, acc)
        highest = new
    out = acc / total[:, None]
    tl.store(o_ptr + offs_m[:, None] * D + offs_d[None, :], out.to(tl.float16), mask=offs_m[:, None] < n)


@triton.jit
def histogram(x_ptr, bins_ptr, n, bins, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    valid = offs < n
    x = tl.load(x_ptr + offs, mask=valid, other=0)
    bucket = (x // 3) % bins
    weight = tl.where(x > 7, 2, 1)
    tl.atomic_add(bins_ptr + bucket, weight, mask=valid, sem="relaxed")
    tl.atomic_max(bins_ptr + bins, tl.max(x, axis=0), sem="acq_rel", scope="cta")


@triton.jit
def cross_entropy(logits_ptr, target_ptr, loss_ptr, n_cols, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(target_ptr + row)
    base = logits_ptr + row * n_cols
    highest = -1.0e30
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(base + cols, mask=cols < n_cols, other=-1.0e30)
        new = tl.maximum(highest, tl.max(x, axis=0))
        total = total * tl.exp(highest - new) + tl.sum(tl.exp(x - new), axis=0)
        highest = new
    chosen = tl.load(base + target)
    loss = tl.log(total) + highest - chosen
    if target >= 0:
        tl.store(loss_ptr + row, loss * (1.0 - smoothing))


@triton.jit
def rope(x_ptr, cos_ptr, sin_ptr, stride, n, HALF: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, HALF)
    mask = offs < n
    cos = tl.load(cos_ptr + row * HALF + offs, mask=mask, other=1.0)
    sin = tl.load(sin_ptr + row * HALF + offs, mask=mask, other=0.0)
    first = tl.load(x_ptr + row * stride + offs, mask=mask, other=0.0)
    second = tl.load(x_ptr + row * stride + offs + HALF, mask=mask, other=0.0)
    left = first * cos - second * sin
    right = second * cos + first * sin
    tl.store(x_ptr + row * stride + offs, left, mask=mask)
    tl.store(x_ptr + row * stride + offs + HALF, right, mask=mask)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    random = tl.rand(seed, offs)
    keep = random > p
    out = tl.where(keep, x / (1.0 - p), 0.0)
    tl.store(out_ptr + offs, out, mask=mask)


@triton.jit
def quantize(x_ptr, out_ptr, scale_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=inside, other=0.0)
    largest = tl.max(tl.abs(x), axis=0)
    scale = largest / 127.0
    scaled = x / scale
    rounded = tl.where(scaled >= 0, scaled + 0.5, scaled - 0.5)
    limited = tl.minimum(tl.maximum(rounded, -128.0), 127.0)
    tl.store(out_ptr + row * n + cols, limited.to(tl.int8), mask=inside)
    tl.store(scale_ptr + row, scale)


@triton.jit
def scan_rows(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in tl.range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=0.0)
        y = tl.cumsum(x, axis=0) + carry
        tl.store(out_ptr + row * stride + cols, y, mask=cols < n)
        carry += tl.sum(x, axis=0)


@triton.jit
def welford(x_ptr, mean_ptr, std_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mean = tl.zeros((BLOCK,), dtype=tl.float32)
    spread = tl.zeros((BLOCK,), dtype=tl.float32)
    count = 0
    for start in range(0, n, BLOCK):
        x = tl.load(x_ptr + row * stride + start + offs)
        count += 1
        delta = x - mean
        mean += delta / count
        spread += delta * (x - mean)
    total = tl.sum(spread, axis=0)
    middle = tl.sum(mean, axis=0) / BLOCK
    tl.store(mean_ptr + row, middle)
    tl.store(std_ptr + row, tl.sqrt(total / n))
