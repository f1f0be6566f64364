"""The kernels of prune_end_to_end.py: none is among those that irscope's estimates were fitted to."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_bias_relu(
    a, b, bias, out, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BAND: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    band = pid // (BAND * columns)
    height = min(rows - band * BAND, BAND)
    row = band * BAND + pid % height
    column = pid % (BAND * columns) // height
    rm, rn, rk = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, tl.cdiv(K, BK)):
        at = start * BK + rk
        left = tl.load(a + rm[:, None] * K + at[None, :], mask=at[None, :] < K, other=0.0)
        right = tl.load(b + at[:, None] * N + rn[None, :], mask=at[:, None] < K, other=0.0)
        acc = tl.dot(left, right, acc)
    acc = tl.maximum(acc + tl.load(bias + rn)[None, :].to(tl.float32), 0.0)
    tl.store(out + rm[:, None] * N + rn[None, :], acc.to(tl.float16), (rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def causal_attention(q, k, v, out, length, scale, D: tl.constexpr, BQ: tl.constexpr, BKV: tl.constexpr):
    block, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * length * D
    rows, inner = block * BQ + tl.arange(0, BQ), tl.arange(0, D)
    query = tl.load(q + base + rows[:, None] * D + inner[None, :]) * (scale * 1.44269504).to(tl.float16)
    highest, total = tl.full((BQ,), -1e30, tl.float32), tl.zeros((BQ,), tl.float32)
    acc = tl.zeros((BQ, D), tl.float32)
    for start in range(0, (block + 1) * BQ, BKV):
        columns = start + tl.arange(0, BKV)
        keys = tl.load(k + base + columns[None, :] * D + inner[:, None])
        scores = tl.dot(query, keys)
        scores = tl.where(rows[:, None] >= columns[None, :], scores, -1e30)
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights, kept = tl.exp2(scores - higher[:, None]), tl.exp2(highest - higher)
        total = total * kept + tl.sum(weights, 1)
        values = tl.load(v + base + columns[:, None] * D + inner[None, :])
        acc = tl.dot(weights.to(tl.float16), values, acc * kept[:, None])
        highest = higher
    tl.store(out + base + rows[:, None] * D + inner[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def layer_norm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    sums, squares = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        sums += value
        squares += value * value
    mean = tl.sum(sums, 0) / columns
    rstd = 1 / tl.sqrt(tl.sum(squares, 0) / columns - mean * mean + eps)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        value = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
        factor = tl.load(weight + at, mask=inside).to(tl.float32)
        offset = tl.load(bias + at, mask=inside).to(tl.float32)
        tl.store(out + row * columns + at, ((value - mean) * rstd * factor + offset).to(tl.float16), inside)


@triton.jit
def int4_matmul(
    a, packed, scales, out, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPAN: tl.constexpr,
):  # fmt: skip
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    half: tl.constexpr = BK // 2
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        rk = start // 2 + tl.arange(0, half)
        both = tl.load(packed + rk[:, None] * N + rn[None, :])
        scale = tl.load(scales + (start // SPAN) * N + rn)[None, :]
        low = (((both & 15).to(tl.float16) - 8) * scale).to(tl.float16)
        high = ((((both >> 4) & 15).to(tl.float16) - 8) * scale).to(tl.float16)
        even = tl.load(a + rm[:, None] * K + 2 * rk[None, :], mask=(rm < M)[:, None], other=0.0)
        odd = tl.load(a + rm[:, None] * K + 2 * rk[None, :] + 1, mask=(rm < M)[:, None], other=0.0)
        acc = tl.dot(even, low, acc)
        acc = tl.dot(odd, high, acc)
    tl.store(out + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=(rm < M)[:, None])


@triton.jit
def quantize_rows(x, out, scales, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    base = row[:, None].to(tl.int64) * columns
    largest = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)[None, :]
        inside = (row < rows)[:, None] & (at < columns)
        largest = tl.maximum(largest, tl.abs(tl.load(x + base + at, mask=inside, other=0.0).to(tl.float32)))
    scale = tl.max(largest, 1) / 127
    tl.store(scales + row, scale, mask=row < rows)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)[None, :]
        inside = (row < rows)[:, None] & (at < columns)
        value = tl.load(x + base + at, mask=inside, other=0.0).to(tl.float32) / scale[:, None]
        tl.store(out + base + at, value.to(tl.int8), mask=inside)


@dataclass(frozen=True)
class Tuned:
    """A kernel, its configs and a launch: `launch` returns the arguments, `grid` takes the meta-parameters."""

    kernel: Any
    configs: Sequence[triton.Config]
    launch: Callable[[], tuple[Any, ...]]
    grid: Callable[[Any], tuple[int, ...]]


def configs(most: int, **values: Sequence[int]) -> list[triton.Config]:
    """All combinations of the values, or `most` of them, the same in every run."""
    rows = list(itertools.product(*values.values()))
    rows = rows if len(rows) <= most else random.Random(1).sample(rows, most)
    return [_config(dict(zip(values, row, strict=True))) for row in rows]


def _config(values: dict[str, int]) -> triton.Config:
    options = {name: values.pop(name) for name in ("num_warps", "num_stages") if name in values}
    return triton.Config(values, **options)


def _half(*shape: int) -> Any:
    return torch.randn(*shape, device="cuda", dtype=torch.float16)


def tuned(most: int) -> dict[str, Tuned]:
    """The kernels by name, each with at most `most` configs."""
    m, n, k = 4096, 4096, 2048
    heads, length, depth = 32, 4096, 64
    rows, columns = 16384, 5120
    small, span = 64, 128
    warps = (4, 8)
    tiles = (32, 64, 128, 256)
    return {
        "matmul": Tuned(
            matmul_bias_relu,
            configs(most, BM=tiles[:3], BN=tiles, BK=(32, 64, 128), BAND=(8,), num_warps=warps, num_stages=(3, 4, 5)),
            lambda: (_half(m, k), _half(k, n), _half(n), _half(m, n), m, n, k),
            lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),),
        ),
        "attention": Tuned(
            causal_attention,
            configs(
                most, D=(depth,), BQ=(32, 64, 128), BKV=(32, 64, 128), num_warps=warps, num_stages=(2, 3, 4)
            ),
            lambda: (*(_half(heads, length, depth) for _ in range(4)), length, depth**-0.5),
            lambda meta: (triton.cdiv(length, meta["BQ"]), heads),
        ),
        "layer norm": Tuned(
            layer_norm,
            configs(
                most, BLOCK=(256, 512, 1024, 2048, 4096, 8192), num_warps=(1, 2, 4, 8, 16), num_stages=(2, 3)
            ),
            lambda: (_half(rows, columns), _half(columns), _half(columns), _half(rows, columns), columns, 1e-5),
            lambda meta: (rows,),
        ),
        "int4 matmul": Tuned(
            int4_matmul,
            configs(
                most, BM=(16, 32, 64), BN=(32, 64, 128, 256), BK=(64, 128), SPAN=(span,),
                num_warps=(2, 4, 8), num_stages=(2, 3, 4),
            ),
            lambda: (
                _half(small, 8192),
                torch.randint(0, 255, (4096, 8192), device="cuda", dtype=torch.uint8),
                _half(8192 // span, 8192),
                _half(small, 8192),
                small,
                8192,
                8192,
            ),
            lambda meta: (triton.cdiv(8192, meta["BN"]), triton.cdiv(small, meta["BM"])),
        ),
        "quantize rows": Tuned(
            quantize_rows,
            configs(
                most, ROWS=(1, 2, 4, 8), BLOCK=(128, 256, 512, 1024, 2048, 4096), num_warps=(1, 2, 4, 8)
            ),
            lambda: (
                _half(rows, columns),
                torch.empty(rows, columns, device="cuda", dtype=torch.int8),
                torch.empty(rows, device="cuda"),
                rows,
                columns,
            ),
            lambda meta: (triton.cdiv(rows, meta["ROWS"]),),
        ),
    }  # fmt: skip
