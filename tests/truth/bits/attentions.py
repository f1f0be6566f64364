"""Attends: forward and backward, over pages, in 8 bits, within a window, by chunks of a linear state."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.bits.space import Arguments, Data, Space, product, unfused


@triton.jit
def attention_forward(
    q, k, v, o, log_sums, scale, length,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, WINDOW: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Attends within a causal window; exponentials are of base two, and rescaling may wait until it is needed."""
    head = tl.program_id(1)
    base = head * length * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    place = tl.arange(0, D)
    x = tl.load(q + base + rows[:, None] * D + place[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    result = tl.zeros((BM, D), tl.float32)
    first = max(0, tl.program_id(0) * BM - WINDOW) // BN * BN
    for start in range(first, (tl.program_id(0) + 1) * BM, BN):
        columns = start + tl.arange(0, BN)
        y = tl.load(
            k + base + columns[None, :] * D + place[:, None], mask=columns[None, :] < length, other=0.0
        )
        scores = tl.dot(x, y) * (scale * 1.4426950408889634)
        seen = (rows[:, None] >= columns[None, :]) & (rows[:, None] - columns[None, :] <= WINDOW)
        scores = tl.where(seen, scores, -1e30)
        new = tl.maximum(most, tl.max(scores, 1))
        weights = tl.where(seen, tl.exp2(scores - new[:, None]), 0.0)
        factor = tl.exp2(most - new)
        z = tl.load(
            v + base + columns[:, None] * D + place[None, :], mask=columns[:, None] < length, other=0.0
        )
        if KEEP:
            result = result * factor[:, None]
            result = tl.dot(weights.to(tl.bfloat16), z, result)
        else:
            result = result * factor[:, None] + tl.dot(weights.to(tl.bfloat16), z)
        total = total * factor + tl.sum(weights, 1)
        most = new
    tl.store(o + base + rows[:, None] * D + place[None, :], (result / total[:, None]).to(tl.bfloat16))
    tl.store(log_sums + head * length + rows, most + tl.log2(total))


@triton.jit
def attention_keys_backward(
    q, k, v, grad, log_sums, deltas, dk, dv, scale, length,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Computes the gradients of keys and values, over all queries."""
    head = tl.program_id(1)
    base = head * length * D
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    place = tl.arange(0, D)
    y = tl.load(k + base + columns[:, None] * D + place[None, :])
    z = tl.load(v + base + columns[:, None] * D + place[None, :])
    dy = tl.zeros((BN, D), tl.float32)
    dz = tl.zeros((BN, D), tl.float32)
    for start in range(0, length, BM):
        rows = start + tl.arange(0, BM)
        x = tl.load(q + base + rows[:, None] * D + place[None, :])
        d = tl.load(grad + base + rows[:, None] * D + place[None, :])
        level, delta = tl.load(log_sums + head * length + rows), tl.load(deltas + head * length + rows)
        weights = tl.exp2(tl.dot(y, tl.trans(x)) * (scale * 1.4426950408889634) - level[None, :])
        dz = tl.dot(weights.to(tl.float16), d, dz)
        ds = weights * (tl.dot(z, tl.trans(d)) - delta[None, :])
        dy = tl.dot(ds.to(tl.float16), x, dy)
    tl.store(dk + base + columns[:, None] * D + place[None, :], (dy * scale).to(tl.float16))
    tl.store(dv + base + columns[:, None] * D + place[None, :], dz.to(tl.float16))


@triton.jit
def attention_queries_backward(
    q, k, v, grad, log_sums, deltas, dq, scale, length,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ATOMIC: tl.constexpr,
):  # fmt: skip
    """Computes the gradients of queries: over all keys, or those of one block, added by atomics."""
    head = tl.program_id(1)
    base = head * length * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    place = tl.arange(0, D)
    x = tl.load(q + base + rows[:, None] * D + place[None, :])
    d = tl.load(grad + base + rows[:, None] * D + place[None, :])
    level, delta = tl.load(log_sums + head * length + rows), tl.load(deltas + head * length + rows)
    dx = tl.zeros((BM, D), tl.float32)
    if ATOMIC:
        first, last = tl.program_id(2) * (length // 2), (tl.program_id(2) + 1) * (length // 2)
    else:
        first, last = 0, length
    for start in range(first, last, BN):
        columns = start + tl.arange(0, BN)
        y = tl.load(k + base + columns[:, None] * D + place[None, :])
        z = tl.load(v + base + columns[:, None] * D + place[None, :])
        weights = tl.exp2(tl.dot(x, tl.trans(y)) * (scale * 1.4426950408889634) - level[:, None])
        ds = weights * (tl.dot(d, tl.trans(z)) - delta[:, None])
        dx = tl.dot(ds.to(tl.float16), y, dx)
    target = dq + base + rows[:, None] * D + place[None, :]
    if ATOMIC:
        tl.atomic_add(target, dx * scale)
    else:
        tl.store(target, dx * scale)


@triton.jit
def paged_decode(
    q, k, v, pages, lengths, o, scale, most_pages,
    D: tl.constexpr, PAGE: tl.constexpr, GROUP: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """Attends from one token per sequence to keys in pages, with a group of queries per head of keys."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    heads = tl.num_programs(1)
    length = tl.load(lengths + sequence)
    group, place = tl.arange(0, GROUP), tl.arange(0, D)
    x = tl.load(q + ((sequence * heads + head) * GROUP + group)[:, None] * D + place[None, :])
    most = tl.full((GROUP,), float("-inf"), tl.float32)
    total = tl.zeros((GROUP,), tl.float32)
    result = tl.zeros((GROUP, D), tl.float32)
    for start in range(0, length, PAGE * AT_ONCE):
        token = start + tl.arange(0, PAGE * AT_ONCE)
        inside = token < length
        page = tl.load(pages + sequence * most_pages + token // PAGE, mask=inside, other=0)
        row = ((page * PAGE + token % PAGE) * heads + head) * D
        y = tl.load(k + row[None, :] + place[:, None], mask=inside[None, :], other=0.0)
        z = tl.load(v + row[:, None] + place[None, :], mask=inside[:, None], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(x, y) * scale, float("-inf"))
        new = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp(scores - new[:, None])
        factor = tl.exp(most - new)
        result = tl.dot(weights.to(tl.float16), z, result * factor[:, None])
        total = total * factor + tl.sum(weights, 1)
        most = new
    target = o + ((sequence * heads + head) * GROUP + group)[:, None] * D + place[None, :]
    tl.store(target, (result / total[:, None]).to(tl.float16))


@triton.jit
def attention_e4m3(
    q, k, v, o, scale, length,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Attends with products of 8-bit floats; the values are transposed."""
    base = tl.program_id(1) * length * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    place = tl.arange(0, D)
    x = tl.load(q + base + rows[:, None] * D + place[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    result = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        columns = start + tl.arange(0, BN)
        scores = tl.dot(x, tl.load(k + base + columns[None, :] * D + place[:, None])) * scale
        new = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        factor = tl.exp2(most - new)
        z = tl.load(v + base + place[None, :] * length + columns[:, None])
        result = tl.dot(weights.to(tl.float8e4nv), z, result * factor[:, None])
        total = total * factor + tl.sum(weights, 1)
        most = new
    tl.store(o + base + rows[:, None] * D + place[None, :], result / total[:, None])


@triton.jit
def linear_chunks(q, k, v, decay, o, length, D: tl.constexpr, C: tl.constexpr, ROUND: tl.constexpr):
    """Attends linearly: the state decays, and each chunk adds to it."""
    head = tl.program_id(0)
    base = head * length * D
    step, place = tl.arange(0, C), tl.arange(0, D)
    rate = tl.load(decay + head)
    state = tl.zeros((D, D), tl.float32)
    age = tl.exp2(rate * (step + 1).to(tl.float32))
    left = tl.exp2(rate * (C - 1 - step).to(tl.float32))
    between = tl.where(
        step[:, None] >= step[None, :], tl.exp2(rate * (step[:, None] - step[None, :]).to(tl.float32)), 0.0
    )
    for start in range(0, length, C):
        row = base + (start + step)[:, None] * D + place[None, :]
        x, y, z = tl.load(q + row), tl.load(k + row), tl.load(v + row)
        scores = tl.dot(x, tl.trans(y)) * between
        if ROUND:
            past = tl.dot(x, state.to(tl.bfloat16))
        else:
            past = tl.dot(x.to(tl.float32), state, input_precision="tf32")
        result = tl.dot(scores.to(tl.bfloat16), z, past * age[:, None])
        tl.store(o + row, result)
        state = state * tl.exp2(rate * C) + tl.dot(tl.trans((y * left[:, None]).to(tl.bfloat16)), z)


def _forward(data: Data) -> Arguments:
    q, k, v = (data.normal(4, 512, 64, dtype=torch.bfloat16) for _ in range(3))
    return q, k, v, data.zeros(4, 512, 64, dtype=torch.bfloat16), data.zeros(4, 512), 0.125, 512


def _backward(outputs: int, dtype: torch.dtype) -> object:
    def make(data: Data) -> Arguments:
        q, k, v, grad = (data.normal(4, 256, 64, dtype=torch.float16, scale=0.5) for _ in range(4))
        levels, deltas = data.uniform(4, 256, low=8.0, high=9.0), data.normal(4, 256, scale=0.1)
        results = (data.zeros(4, 256, 64, dtype=dtype) for _ in range(outputs))
        return q, k, v, grad, levels, deltas, *results, 0.125, 256

    return make


def _paged(data: Data) -> Arguments:
    q = data.normal(4, 2, 16, 64, dtype=torch.float16)
    k, v = (data.normal(96, 16, 2, 64, dtype=torch.float16) for _ in range(2))
    pages = data.order(96)
    lengths = data.listed([384, 200, 17, 1])
    return q, k, v, pages, lengths, data.zeros(4, 2, 16, 64, dtype=torch.float16), 0.125, 24


def _e4m3(data: Data) -> Arguments:
    q, k, v = (data.normal(2, 256, 64, dtype=torch.float8_e4m3fn) for _ in range(3))
    return q, k, v, data.zeros(2, 256, 64), 0.125, 256


def _linear(data: Data) -> Arguments:
    q, k, v = (data.normal(4, 256, 64, dtype=torch.bfloat16, scale=0.3) for _ in range(3))
    return q, k, v, data.uniform(4, low=-0.2, high=-0.01), data.zeros(4, 256, 64), 256


_TILES = {
    "D": [64],
    "BM": [16, 32, 64, 128],
    "BN": [16, 32, 64, 128],
    "num_warps": [4, 8],
    "num_stages": [1, 2, 3],
}

SPACES = [
    Space(
        "attention_forward",
        attention_forward,
        unfused(product(72, WINDOW=[1000], KEEP=[True, False], **_TILES)),
        (4, 512, 64),
        _forward,
        lambda config: (512 // config["BM"], 4),
    ),
    Space(
        "attention_window",
        attention_forward,
        unfused(product(56, WINDOW=[100], KEEP=[True], **_TILES)),
        (4, 512, 64),
        _forward,
        lambda config: (512 // config["BM"], 4),
    ),
    Space(
        "attention_keys_backward",
        attention_keys_backward,
        unfused(product(48, **_TILES | {"BM": [16, 32, 64], "BN": [32, 64, 128], "num_stages": [1, 2]})),
        (4, 256, 64),
        _backward(2, torch.float16),
        lambda config: (256 // config["BN"], 4),
    ),
    Space(
        "attention_queries_backward",
        attention_queries_backward,
        unfused(product(48, ATOMIC=[False, True], **_TILES | {"BM": [32, 64, 128], "BN": [16, 32, 64], "num_stages": [1, 2]})),
        (4, 256, 64),
        _backward(1, torch.float32),
        lambda config: (256 // config["BM"], 4, 2 if config["ATOMIC"] else 1),
    ),
    Space(
        "paged_decode",
        paged_decode,
        unfused(product(72, D=[64], PAGE=[16], GROUP=[16], AT_ONCE=[1, 2, 4, 8, 16], num_warps=[1, 2, 4, 8], num_stages=[1, 2, 3])),
        (4, 2, 16, 64),
        _paged,
        lambda _config: (4, 2),
    ),
    Space(
        "attention_e4m3",
        attention_e4m3,
        unfused(product(48, **_TILES | {"BM": [32, 64, 128], "BN": [32, 64, 128]})),
        (2, 256, 64),
        _e4m3,
        lambda config: (256 // config["BM"], 2),
    ),
    Space(
        "linear_chunks",
        linear_chunks,
        unfused(product(48, D=[64], C=[16, 32, 64, 128], ROUND=[False, True], num_warps=[2, 4, 8], num_stages=[1, 2])),
        (4, 256, 64),
        _linear,
        lambda _config: (4,),
    ),
]  # fmt: skip
