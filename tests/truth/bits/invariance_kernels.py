"""Twenty kernels as libraries have them; in ten of them, the bits of a row depend on how many rows there are."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rms_norm(x, w, out, N, eps, B: tl.constexpr):
    """Normalizes one row per program."""
    row = tl.program_id(0)
    column = tl.arange(0, B)
    inside = column < N
    value = tl.load(x + row * N + column, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + eps)
    weight = tl.load(w + column, mask=inside).to(tl.float32)
    tl.store(out + row * N + column, (value * scale * weight).to(tl.float16), mask=inside)


@triton.jit
def persistent_softmax(x, out, M, N, B: tl.constexpr):
    """Lets each program take one row after another, as far from each other as there are programs."""
    column = tl.arange(0, B)
    inside = column < N
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        value = tl.load(x + row * N + column, mask=inside, other=-float("inf"))
        shifted = tl.exp(value - tl.max(value, 0))
        tl.store(out + row * N + column, shifted / tl.sum(shifted, 0), mask=inside)


@triton.jit
def looped_layer_norm(x, w, b, out, N, eps, B: tl.constexpr):
    """Computes mean, variance and result of a row in three loops over its blocks."""
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, N, B):
        column = start + tl.arange(0, B)
        total += tl.load(x + row * N + column, mask=column < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / N
    squares = tl.zeros((B,), tl.float32)
    for start in range(0, N, B):
        column = start + tl.arange(0, B)
        value = tl.load(x + row * N + column, mask=column < N, other=0.0).to(tl.float32)
        value = tl.where(column < N, value - mean, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / N + eps)
    for start in range(0, N, B):
        column = start + tl.arange(0, B)
        inside = column < N
        value = (tl.load(x + row * N + column, mask=inside, other=0.0).to(tl.float32) - mean) * scale
        value = value * tl.load(w + column, mask=inside) + tl.load(b + column, mask=inside)
        tl.store(out + row * N + column, value.to(tl.float16), mask=inside)


TILES = ((64, 64, 32, 4), (128, 64, 64, 4), (64, 128, 64, 8))


@triton.autotune(
    [triton.Config({"BM": m, "BN": n, "BK": k}, num_warps=w, num_stages=3) for m, n, k, w in TILES],
    key=["M", "N", "K"],
)
@triton.jit
def tuned_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiplies tiles of a size that an autotuner chooses for each M."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + ks[None, :], mask=rows[:, None] < M, other=0.0)
        right = tl.load(b + ks[:, None] * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=rows[:, None] < M)


@triton.jit
def grouped_matmul(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    """Takes the tiles of GROUP rows of tiles before the next ones; the caller chooses BM by M."""
    tile = tl.program_id(0)
    across = tl.cdiv(N, BN)
    first = tile // (GROUP * across) * GROUP
    group = min(tl.cdiv(M, BM) - first, GROUP)
    rows = (first + tile % (GROUP * across) % group) * BM + tl.arange(0, BM)
    columns = tile % (GROUP * across) // group * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        left = tl.load(a + (rows % M)[:, None] * K + ks[None, :])
        total = tl.dot(left, tl.load(b + ks[:, None] * N + columns[None, :]), total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=rows[:, None] < M)


@triton.jit
def quantize_tokens(x, out, scales, N, B: tl.constexpr):
    """Rounds each row to 8 bits with a scale of its own."""
    row = tl.program_id(0)
    column = tl.arange(0, B)
    inside = column < N
    value = tl.load(x + row * N + column, mask=inside, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-10) / 127.0
    scaled = value / scale
    rounded = tl.where(scaled >= 0, scaled + 0.5, scaled - 0.5)
    tl.store(out + row * N + column, rounded.to(tl.int8), mask=inside)
    tl.store(scales + row, scale)


@triton.jit
def decode_attention(q, k, v, out, length, scale, H: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    """Attends with one query per sequence and head to all its keys."""
    head = tl.program_id(0) * H + tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    most, total = -float("inf"), 0.0
    result = tl.zeros((D,), tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        place = (head * length + n)[:, None] * D + d[None, :]
        keys = tl.load(k + place, mask=n[:, None] < length, other=0.0).to(tl.float32)
        scores = tl.where(n < length, tl.sum(query[None, :] * keys, 1) * scale, -float("inf"))
        larger = tl.maximum(most, tl.max(scores, 0))
        weights = tl.exp(scores - larger)
        shrink = tl.exp(most - larger)
        values = tl.load(v + place, mask=n[:, None] < length, other=0.0).to(tl.float32)
        result = result * shrink + tl.sum(weights[:, None] * values, 0)
        total = total * shrink + tl.sum(weights, 0)
        most = larger
    tl.store(out + head * D + d, (result / total).to(tl.float16))


@triton.jit
def cross_entropy(logits, labels, loss, N, B: tl.constexpr):
    """Computes the loss of one row per program, with an online sum of exponentials."""
    row = tl.program_id(0)
    most, total = -float("inf"), 0.0
    for start in range(0, N, B):
        column = start + tl.arange(0, B)
        value = tl.load(logits + row * N + column, mask=column < N, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(most, tl.max(value, 0))
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(value - larger), 0)
        most = larger
    chosen = tl.load(logits + row * N + tl.load(labels + row)).to(tl.float32)
    tl.store(loss + row, most + tl.log(total) - chosen)


@triton.jit
def row_cumsum(x, out, M, N, RB: tl.constexpr, B: tl.constexpr):
    """Adds up the elements of some rows per program."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.arange(0, B)
    place = row[:, None] * N + column[None, :]
    inside = (row[:, None] < M) & (column[None, :] < N)
    tl.store(out + place, tl.cumsum(tl.load(x + place, mask=inside, other=0.0), 1), mask=inside)


@triton.jit
def silu_and_mul(gate, up, out, n, B: tl.constexpr):
    """Multiplies element by element, whatever the rows are."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    value = tl.load(gate + i, mask=inside).to(tl.float32)
    value = value / (1.0 + tl.exp(-value)) * tl.load(up + i, mask=inside).to(tl.float32)
    tl.store(out + i, value.to(tl.float16), mask=inside)


# From here on, the number of rows decides about bits.


@triton.jit
def add_rms_norm(x, residual, w, out, N, eps, B: tl.constexpr):
    """Adds and normalizes one row per program; the caller takes more warps if there are few rows."""
    row = tl.program_id(0)
    column = tl.arange(0, B)
    value = tl.load(x + row * N + column, mask=column < N, other=0.0).to(tl.float32)
    value += tl.load(residual + row * N + column, mask=column < N, other=0.0).to(tl.float32)
    tl.store(residual + row * N + column, value.to(tl.float16), mask=column < N)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + eps)
    value = value * scale * tl.load(w + column, mask=column < N).to(tl.float32)
    tl.store(out + row * N + column, value.to(tl.float16), mask=column < N)


@triton.autotune(
    [triton.Config({"B": b}, num_warps=w) for b, w in ((256, 1), (1024, 4), (1024, 8))], key=["M", "N"]
)
@triton.jit
def tuned_rms_norm(x, w, out, M, N, eps, B: tl.constexpr):
    """Normalizes one row per program, a block after another; an autotuner chooses for each M."""
    row = tl.program_id(0)
    squares = tl.zeros((B,), tl.float32)
    for start in range(0, N, B):
        column = start + tl.arange(0, B)
        value = tl.load(x + row * N + column, mask=column < N, other=0.0).to(tl.float32)
        squares += value * value
    scale = tl.rsqrt(tl.sum(squares, 0) / N + eps)
    for start in range(0, N, B):
        column = start + tl.arange(0, B)
        value = tl.load(x + row * N + column, mask=column < N, other=0.0).to(tl.float32)
        value = value * scale * tl.load(w + column, mask=column < N).to(tl.float32)
        tl.store(out + row * N + column, value.to(tl.float16), mask=column < N)


@triton.jit
def split_matmul(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr
):
    """Splits K over several programs, which add with atomics, if M alone keeps too few of them busy."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.program_id(2) * BK, K, BK * SPLIT_K):
        ks = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + ks[None, :], mask=rows[:, None] < M, other=0.0)
        total = tl.dot(left, tl.load(b + ks[:, None] * N + columns[None, :]), total)
    place = c + rows[:, None] * N + columns[None, :]
    if SPLIT_K == 1:
        tl.store(place, total, mask=rows[:, None] < M)
    else:
        tl.atomic_add(place, total, mask=rows[:, None] < M)


@triton.jit
def stream_k_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Gives each program an equal share of the steps of all tiles, wherever that cuts a tile."""
    steps = tl.cdiv(K, BK)
    across = tl.cdiv(N, BN)
    share = tl.cdiv(tl.cdiv(M, BM) * across * steps, tl.num_programs(0))
    step = tl.program_id(0) * share
    end = min(step + share, tl.cdiv(M, BM) * across * steps)
    while step < end:
        tile = step // steps
        last = min(end, (tile + 1) * steps)
        rows = tile // across * BM + tl.arange(0, BM)
        columns = tile % across * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for number in range(step, last):
            ks = number % steps * BK + tl.arange(0, BK)
            left = tl.load(a + rows[:, None] * K + ks[None, :], mask=rows[:, None] < M, other=0.0)
            total = tl.dot(left, tl.load(b + ks[:, None] * N + columns[None, :]), total)
        tl.atomic_add(c + rows[:, None] * N + columns[None, :], total, mask=rows[:, None] < M)
        step = last


@triton.jit
def split_decode(
    q,
    k,
    v,
    out,
    sums,
    length,
    scale,
    H: tl.constexpr,
    D: tl.constexpr,
    BN: tl.constexpr,
    SPLITS: tl.constexpr,
):
    """Attends to a part of the keys per program; the caller takes more parts if there are few sequences."""
    head = tl.program_id(0) * H + tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    most, total = -float("inf"), 0.0
    result = tl.zeros((D,), tl.float32)
    part = tl.cdiv(length, SPLITS)
    low = tl.program_id(2) * part
    for start in range(low, min(low + part, length), BN):
        n = start + tl.arange(0, BN)
        inside = n < min(low + part, length)
        place = (head * length + n)[:, None] * D + d[None, :]
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(query[None, :] * keys, 1) * scale, -float("inf"))
        larger = tl.maximum(most, tl.max(scores, 0))
        weights = tl.exp(scores - larger)
        shrink = tl.exp(most - larger)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        result = result * shrink + tl.sum(weights[:, None] * values, 0)
        total = total * shrink + tl.sum(weights, 0)
        most = larger
    # At most 8 parts, so that the place of a part does not depend on their number.
    place = head * 8 + tl.program_id(2)
    tl.store(out + place * D + d, result / total)
    tl.store(sums + place, most + tl.log(total))


@triton.jit
def weight_gradients(dy, x, partial, M, N, RB: tl.constexpr, B: tl.constexpr):
    """Adds the rows of its share of M in each program, as the backward pass of a norm does."""
    column = tl.program_id(1) * B + tl.arange(0, B)
    share = tl.cdiv(M, tl.num_programs(0))
    low = tl.program_id(0) * share
    total = tl.zeros((B,), tl.float32)
    for start in range(low, min(low + share, M), RB):
        row = start + tl.arange(0, RB)
        place = row[:, None] * N + column[None, :]
        inside = (row[:, None] < min(low + share, M)) & (column[None, :] < N)
        one = tl.load(dy + place, mask=inside, other=0.0)
        total += tl.sum(one * tl.load(x + place, mask=inside, other=0.0), 0)
    tl.store(partial + tl.program_id(0) * N + column, total, mask=column < N)


@triton.jit
def batch_norm(x, out, M, N, eps, RB: tl.constexpr, B: tl.constexpr):
    """Normalizes each column over all rows."""
    column = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    squares = tl.zeros((B,), tl.float32)
    for start in range(0, M, RB):
        row = start + tl.arange(0, RB)
        value = tl.load(x + row[:, None] * N + column[None, :], mask=row[:, None] < M, other=0.0)
        total += tl.sum(value, 0)
        squares += tl.sum(value * value, 0)
    mean = total / M
    scale = tl.rsqrt(squares / M - mean * mean + eps)
    for start in range(0, M, RB):
        row = start + tl.arange(0, RB)
        place = row[:, None] * N + column[None, :]
        value = tl.load(x + place, mask=row[:, None] < M, other=0.0)
        tl.store(out + place, (value - mean[None, :]) * scale[None, :], mask=row[:, None] < M)


@triton.jit
def align_tokens(experts, counts, places, M, B: tl.constexpr):
    """Gives each token the next place of its expert, as programs come."""
    token = tl.program_id(0) * B + tl.arange(0, B)
    expert = tl.load(experts + token, mask=token < M, other=0)
    tl.store(places + token, tl.atomic_add(counts + expert, 1, mask=token < M), mask=token < M)


@triton.jit
def quantize_tensor(x, out, n, B: tl.constexpr):
    """Rounds all rows to 8 bits with one scale, which each program computes from all of them."""
    most = 0.0
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        most = tl.maximum(most, tl.max(tl.abs(tl.load(x + i, mask=i < n, other=0.0)), 0))
    i = tl.program_id(0) * B + tl.arange(0, B)
    scaled = tl.load(x + i, mask=i < n, other=0.0) / (most / 127.0)
    tl.store(out + i, tl.where(scaled >= 0, scaled + 0.5, scaled - 0.5).to(tl.int8), mask=i < n)


@triton.jit
def mean_cross_entropy(logits, labels, gradient, M, N, B: tl.constexpr):
    """Computes a row of the gradient of the mean loss: the number of rows is a factor."""
    row = tl.program_id(0)
    column = tl.arange(0, B)
    value = tl.load(logits + row * N + column, mask=column < N, other=-float("inf"))
    weight = tl.exp(value - tl.max(value, 0))
    weight = weight / tl.sum(weight, 0)
    weight = tl.where(column == tl.load(labels + row), weight - 1.0, weight)
    tl.store(gradient + row * N + column, weight / M, mask=column < N)
