"""Scans, sorts, and moves elements: prefix sums, recurrences, order, histograms, gathers, joins."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.bits.space import Arguments, Data, Space, product, unfused


@triton.jit
def long_cumsum(x, o, columns, B: tl.constexpr, REVERSE: tl.constexpr):
    """Adds up rows block after block; each begins with the sum so far."""
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, columns, B):
        column = start + tl.arange(0, B)
        if REVERSE:
            column = columns - start - B + tl.arange(0, B)
        values = tl.load(x + row * columns + column).to(tl.float32)
        tl.store(o + row * columns + column, carry + tl.cumsum(values, 0, reverse=REVERSE))
        carry += tl.sum(values)


@triton.jit
def plane_cumsum(x, o, rows, columns, RB: tl.constexpr, CB: tl.constexpr, AXIS: tl.constexpr):
    """Adds up along either axis of a block."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.arange(0, CB)
    place = row[:, None] * columns + column[None, :]
    tl.store(o + place, tl.cumsum(tl.load(x + place), AXIS))


@triton.jit
def cumulative_products(x, o, columns, RB: tl.constexpr, B: tl.constexpr):
    """Multiplies up rows."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    place = row[:, None] * columns + tl.arange(0, B)[None, :]
    tl.store(o + place, tl.cumprod(tl.load(x + place), 1))


@triton.jit
def composed(gate_a, value_a, gate_b, value_b):
    """Composes two steps of h = gate * h + value."""
    return gate_a * gate_b, gate_b * value_a + value_b


@triton.jit
def linear_recurrence(gate, value, o, length, B: tl.constexpr, REVERSE: tl.constexpr):
    """Solves h[t] = gate[t] * h[t - 1] + value[t] by a scan of pairs."""
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, length, B):
        i = row * length + start + tl.arange(0, B)
        gates, values = tl.load(gate + i), tl.load(value + i)
        gates, values = tl.associative_scan((gates, values), 0, composed, reverse=REVERSE)
        if REVERSE:
            tl.store(o + i, values)
        else:
            states = values + gates * carry
            tl.store(o + i, states)
            carry = tl.sum(tl.where(tl.arange(0, B) == B - 1, states, 0.0))


@triton.jit
def larger(a, b):
    """Returns the larger one."""
    return tl.maximum(a, b)


@triton.jit
def running_max(x, o, columns, RB: tl.constexpr, B: tl.constexpr):
    """Finds the largest element so far, among NaN and zeros of both signs."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    place = row[:, None] * columns + tl.arange(0, B)[None, :]
    tl.store(o + place, tl.associative_scan(tl.load(x + place), 1, larger))


@triton.jit
def state_space(x, step, a, b, c, o, length, width, D: tl.constexpr, S: tl.constexpr):
    """Runs a selective state space model: the state is kept over time, the output is a sum over the state."""
    channel = tl.program_id(0) * D + tl.arange(0, D)
    place = tl.arange(0, S)
    decay = tl.load(a + channel[:, None] * S + place[None, :])
    state = tl.zeros((D, S), tl.float32)
    for t in range(length):
        value = tl.load(x + t * width + channel)
        delta = tl.load(step + t * width + channel)
        delta = tl.where(delta > 20.0, delta, tl.log(1.0 + tl.exp(delta)))
        into, out = tl.load(b + t * S + place), tl.load(c + t * S + place)
        state = state * tl.exp(delta[:, None] * decay) + (delta * value)[:, None] * into[None, :]
        tl.store(o + t * width + channel, tl.sum(state * out[None, :], 1))


@triton.jit
def sorted_rows(x, o, columns, RB: tl.constexpr, B: tl.constexpr, DOWN: tl.constexpr):
    """Sorts rows with zeros of both signs."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    place = row[:, None] * columns + tl.arange(0, B)[None, :]
    tl.store(o + place, tl.sort(tl.load(x + place), 1, DOWN))


@triton.jit
def largest_softmax(x, o, columns, RB: tl.constexpr, B: tl.constexpr, K: tl.constexpr):
    """Computes the softmax over the K largest elements of each row."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    values = tl.load(x + row[:, None] * columns + tl.arange(0, B)[None, :])
    best = tl.topk(values, K, 1)
    weights = tl.exp(best - tl.max(best, 1)[:, None])
    weights /= tl.sum(weights, 1)[:, None]
    tl.store(o + row[:, None] * K + tl.arange(0, K)[None, :], weights)


@triton.jit
def histograms(x, o, n, B: tl.constexpr, BINS: tl.constexpr, PER: tl.constexpr):
    """Counts integers, and adds the counts of all programs."""
    counts = tl.zeros((BINS,), tl.int32)
    for step in range(PER):
        i = (tl.program_id(0) * PER + step) * B + tl.arange(0, B)
        counts += tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(o + tl.arange(0, BINS), counts)


@triton.jit
def gathered_rows(x, index, o, RB: tl.constexpr, B: tl.constexpr):
    """Gathers elements within a row, and adds them."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    place = row[:, None] * B + tl.arange(0, B)[None, :]
    values = tl.gather(tl.load(x + place), tl.load(index + place), 1)
    tl.store(o + row, tl.sum(values * values, 1))


@triton.jit
def rotary_pairs(x, angles, o, heads, D: tl.constexpr, HB: tl.constexpr, HALVES: tl.constexpr):
    """Rotates neighboring pairs, or the two halves, of each head."""
    token = tl.program_id(0)
    head = tl.program_id(1) * HB + tl.arange(0, HB)
    base = (token * heads + head)[:, None] * D
    angle = tl.load(angles + token * (D // 2) + tl.arange(0, D // 2))[None, :]
    cosine, sine = tl.cos(angle), tl.sin(angle)
    if HALVES:
        half = tl.arange(0, D // 2)[None, :]
        first, second = (
            tl.load(x + base + half).to(tl.float32),
            tl.load(x + base + D // 2 + half).to(tl.float32),
        )
        tl.store(o + base + half, (first * cosine - second * sine).to(tl.bfloat16))
        tl.store(o + base + D // 2 + half, (second * cosine + first * sine).to(tl.bfloat16))
    else:
        whole = tl.arange(0, D)[None, :]
        values = tl.load(x + base + whole).to(tl.float32)
        first, second = tl.split(tl.reshape(values, (HB, D // 2, 2)))
        rotated = tl.interleave(first * cosine - second * sine, second * cosine + first * sine)
        tl.store(o + base + whole, rotated.to(tl.bfloat16))


@triton.jit
def moved(x, y, o, A: tl.constexpr, B: tl.constexpr, MODE: tl.constexpr):
    """Permutes, joins, concatenates or flips blocks, then adds neighbors."""
    i, j = tl.arange(0, A), tl.arange(0, B)
    base = tl.program_id(0) * A * B
    place = base + i[:, None] * B + j[None, :]
    p, q = tl.load(x + place), tl.load(y + place)
    if MODE == 0:
        result = tl.trans(tl.reshape(tl.permute(tl.join(p, q), (2, 0, 1)), (2 * A, B)))
        tl.store(o + 2 * base + tl.arange(0, B)[:, None] * 2 * A + tl.arange(0, 2 * A)[None, :], result)
    elif MODE == 1:
        result = tl.reshape(tl.join(p, q), (A, 2 * B))
        tl.store(o + 2 * base + i[:, None] * 2 * B + tl.arange(0, 2 * B)[None, :], tl.cumsum(result, 1))
    elif MODE == 2:
        flat = tl.cat(tl.reshape(p, (A * B,)), tl.reshape(q, (A * B,)), can_reorder=True)
        tl.store(o + 2 * base + tl.program_id(0), tl.sum(flat))
    else:
        flipped = tl.flip(p, 1) * q + tl.flip(q, 0)
        tl.store(o + 2 * base + i, tl.sum(flipped, 1))


def _pairs(data: Data) -> Arguments:
    return data.uniform(64, 1024, low=0.5, high=1.0), data.normal(64, 1024), data.zeros(64, 1024), 1024


def _state(data: Data) -> Arguments:
    x, step = data.normal(64, 128), data.normal(64, 128)
    a = data.uniform(128, 16, low=-1.0, high=-0.05)
    return x, step, a, data.normal(64, 16), data.normal(64, 16), data.zeros(64, 128), 64, 128


def _gather(data: Data) -> Arguments:
    return data.normal(128, 128), data.integers(0, 128, 128, 128), data.zeros(128)


def _rotary(data: Data) -> Arguments:
    angles = data.uniform(32, 64, high=100.0)
    return (
        data.normal(32, 16, 128, dtype=torch.bfloat16),
        angles,
        data.zeros(32, 16, 128, dtype=torch.bfloat16),
        16,
    )


_WARPS = [1, 2, 4, 8, 16]
_ROWS = {"RB": [1, 2, 4, 8], "num_warps": _WARPS}

SPACES = [
    Space(
        "long_cumsum",
        long_cumsum,
        unfused(product(80, B=[32, 64, 128, 256, 512, 1024, 2048], REVERSE=[False, True], num_warps=_WARPS)),
        (64, 2048),
        lambda data: (data.normal(64, 2048, dtype=torch.float16), data.zeros(64, 2048), 2048),
        lambda _config: (64,),
    ),
    Space(
        "plane_cumsum",
        plane_cumsum,
        unfused(product(64, RB=[4, 8, 16, 32, 64], CB=[128], AXIS=[1], num_warps=_WARPS)
                + product(64, RB=[64], CB=[128], AXIS=[0], num_warps=_WARPS)),
        (64, 128),
        lambda data: (data.normal(64, 128), data.zeros(64, 128), 64, 128),
        lambda config: (64 // config["RB"],),
    ),
    Space(
        "cumulative_products",
        cumulative_products,
        unfused(product(64, B=[256], **_ROWS)),
        (64, 256),
        lambda data: (data.uniform(64, 256, low=0.8, high=1.25), data.zeros(64, 256), 256),
        lambda config: (64 // config["RB"],),
    ),
    Space(
        "linear_recurrence",
        linear_recurrence,
        unfused(product(64, B=[64, 128, 256, 512, 1024], REVERSE=[False], num_warps=_WARPS)
                + product(64, B=[1024], REVERSE=[True], num_warps=_WARPS)),
        (64, 1024),
        _pairs,
        lambda _config: (64,),
    ),
    Space(
        "running_max",
        running_max,
        unfused(product(64, B=[256], **_ROWS)),
        (64, 256),
        lambda data: (data.special(64, 256), data.zeros(64, 256), 256),
        lambda config: (64 // config["RB"],),
    ),
    Space(
        "state_space",
        state_space,
        unfused(product(64, D=[4, 8, 16, 32, 64], S=[16], num_warps=_WARPS, num_stages=[1, 3])),
        (64, 128),
        _state,
        lambda config: (128 // config["D"],),
    ),
    Space(
        "sorted_rows",
        sorted_rows,
        unfused(product(40, B=[128], DOWN=[False, True], **_ROWS)),
        (64, 128),
        lambda data: (data.integers(-9, 10, 64, 128, dtype=torch.float32) * -0.5, data.zeros(64, 128), 128),
        lambda config: (64 // config["RB"],),
    ),
    Space(
        "largest_softmax",
        largest_softmax,
        unfused(product(40, B=[128], K=[8, 16], **_ROWS)),
        (64, 128),
        lambda data: (data.normal(64, 128), data.zeros(64, 16), 128),
        lambda config: (64 // config["RB"],),
    ),
    Space(
        "histograms",
        histograms,
        unfused(product(64, B=[128, 256, 512, 1024], BINS=[64], PER=[1, 2, 4], num_warps=_WARPS)),
        (20000,),
        lambda data: (data.integers(0, 64, 20000), data.zeros(64, dtype=torch.int32), 20000),
        lambda config: (-(-20000 // (config["B"] * config["PER"])),),
    ),
    Space(
        "gathered_rows",
        gathered_rows,
        unfused(product(64, B=[128], **_ROWS | {"RB": [1, 2, 4, 8, 16]})),
        (128, 128),
        _gather,
        lambda config: (128 // config["RB"],),
    ),
    Space(
        "rotary_pairs",
        rotary_pairs,
        unfused(product(64, D=[128], HB=[1, 2, 4, 8, 16], HALVES=[False, True], num_warps=_WARPS)),
        (32, 16, 128),
        _rotary,
        lambda config: (32, 16 // config["HB"]),
    ),
    Space(
        "moved",
        moved,
        unfused(product(80, A=[16, 32], B=[32, 64], MODE=[0, 1, 2, 3], num_warps=_WARPS)),
        (4096,),
        lambda data: (data.normal(4096), data.normal(4096), data.zeros(8192)),
        lambda config: (4096 // (config["A"] * config["B"]),),
    ),
]  # fmt: skip
