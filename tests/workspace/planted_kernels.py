"""Kernels of all kinds, in which `planted_bits.py` plants changes. The helpers come first."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def mean_square(x, n):
    squares = x * x
    return tl.sum(squares, axis=0) / n


@triton.jit
def normalized(x, n, epsilon):
    variance = mean_square(x, n)
    return x / tl.sqrt(variance + epsilon)


@triton.jit
def gelu(x):
    cubic = 0.044715 * x * x * x
    inner = 0.7978845608028654 * (x + cubic)
    return 0.5 * x * (1.0 + libdevice.tanh(inner))


@triton.jit
def recurrence(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def welford(mean_a, squares_a, count_a, mean_b, squares_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    return mean_a + delta * share, squares_a + squares_b + delta * delta * count_a * share, count


@triton.jit
def rescaled(values, best, total):
    larger = tl.maximum(best, tl.max(values, axis=1))
    shrunk = tl.exp2(best - larger)
    weights = tl.exp2(values - larger[:, None])
    return weights, larger, shrunk, total * shrunk + tl.sum(weights, axis=1)


# Kernels.


@triton.jit
def softmax(x, out, n):
    row = tl.program_id(0)
    columns = tl.arange(0, 1024)
    values = tl.load(x + row * n + columns, mask=columns < n, other=-float("inf"))
    values = values - tl.max(values, axis=0)
    numerator = tl.exp(values)
    total = tl.sum(numerator, axis=0)
    tl.store(out + row * n + columns, numerator / total, mask=columns < n)


@triton.jit
def layer_norm(x, weight, bias, out, n):
    row = tl.program_id(0)
    columns = tl.arange(0, 1024)
    mask = columns < n
    values = tl.load(x + row * n + columns, mask=mask, other=0.0)
    mean = tl.sum(values, axis=0) / n
    centered = tl.where(mask, values - mean, 0.0)
    variance = tl.sum(centered * centered, axis=0) / n
    scale = tl.rsqrt(variance + 1e-5)
    result = centered * scale * tl.load(weight + columns, mask=mask)
    tl.store(out + row * n + columns, result + tl.load(bias + columns, mask=mask), mask=mask)


@triton.jit
def rms_norm(x, residual, weight, out, n):
    row = tl.program_id(0)
    columns = tl.arange(0, 1024)
    mask = columns < n
    hidden = tl.load(x + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    hidden += tl.load(residual + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    scaled = normalized(hidden, n, 1e-6)
    result = scaled * tl.load(weight + columns, mask=mask).to(tl.float32)
    tl.store(out + row * n + columns, result, mask=mask)


@triton.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((), tl.float32)
    for start in range(0, n, BLOCK):
        values = tl.load(x + row * n + start + tl.arange(0, BLOCK))
        total += tl.sum(values, axis=0)
    tl.store(out + row, total)


@triton.jit
def column_sum(x, out):
    rows = tl.arange(0, 64)
    columns = tl.program_id(0) * 64 + tl.arange(0, 64)
    values = tl.load(x + rows[:, None] * 256 + columns[None, :])
    tl.store(out + columns, tl.sum(values, axis=0))


@triton.jit
def tile_norm(x, out):
    rows = tl.program_id(0) * 32 + tl.arange(0, 32)
    columns = tl.arange(0, 32)
    tile = tl.load(x + rows[:, None] * 32 + columns[None, :])
    squares = tile * tile
    total = tl.sum(tl.sum(squares, axis=1), axis=0)
    largest = tl.max(tl.max(tile, axis=1), axis=0)
    tl.store(out + rows[:, None] * 32 + columns[None, :], tile / total * largest)


@triton.jit
def group_norm(x, out):
    groups = tl.arange(0, 4)
    places = tl.program_id(0) * 1024 + groups[:, None] * 256 + tl.arange(0, 256)[None, :]
    values = tl.load(x + places)
    mean = tl.sum(values, axis=1) * 0.00390625
    values = values - mean[:, None]
    tl.store(out + places, values)


@triton.jit
def residual(x, y, z, out):
    places = tl.program_id(0) * 512 + tl.arange(0, 512)
    a = tl.load(x + places)
    b = tl.load(y + places)
    c = tl.load(z + places)
    total = (a + b) + c
    tl.store(out + places, total)


@triton.jit
def running_sum(x, out):
    places = tl.program_id(0) * 2048 + tl.arange(0, 2048)
    values = tl.load(x + places)
    sums = tl.cumsum(values, axis=0)
    tl.store(out + places, sums)


@triton.jit
def state_space(gate, x, out):
    places = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    decay = tl.load(gate + places)
    values = tl.load(x + places)
    _, states = tl.associative_scan((decay, values), 0, recurrence)
    tl.store(out + places, states)


@triton.jit
def variance(x, out):
    row = tl.program_id(0)
    values = tl.load(x + row * 1024 + tl.arange(0, 1024))
    zeros = tl.zeros((1024,), tl.float32)
    _, squares, count = tl.reduce((values, zeros, zeros + 1.0), 0, welford)
    tl.store(out + row, squares / count)


@triton.jit
def two_sums(x, y, out):
    row = tl.program_id(0)
    a = tl.load(x + row * 1024 + tl.arange(0, 1024))
    b = tl.load(y + row * 1024 + tl.arange(0, 1024))
    total = tl.sum(a, axis=0)
    product = tl.sum(a * b, axis=0)
    tl.store(out + row, total)
    tl.store(out + 64 + row, product)


@triton.jit
def attention(q, k, v, out, n, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    features = tl.arange(0, 64)
    query = tl.load(q + rows[:, None] * 64 + features[None, :])
    best = tl.full((64,), -float("inf"), tl.float32)
    total = tl.zeros((64,), tl.float32)
    result = tl.zeros((64, 64), tl.float32)
    for start in range(0, n, BLOCK_N):
        others = start + tl.arange(0, BLOCK_N)
        key = tl.load(k + others[None, :] * 64 + features[:, None])
        scores = tl.dot(query, key) * 0.18033688
        weights, best, shrunk, total = rescaled(scores, best, total)
        value = tl.load(v + others[:, None] * 64 + features[None, :])
        result = tl.dot(weights.to(tl.float16), value, result * shrunk[:, None])
    result = result / total[:, None]
    tl.store(out + rows[:, None] * 64 + features[None, :], result.to(tl.float16))


@triton.jit
def matmul(a, b, c, K, BK: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    columns = tl.program_id(1) * 64 + tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, BK):
        ks = start + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + ks[None, :])
        right = tl.load(b + ks[:, None] * 128 + columns[None, :])
        total = tl.dot(left, right, total, input_precision=PRECISION)
    result = total * 0.125
    tl.store(c + rows[:, None] * 128 + columns[None, :], result)


@triton.jit
def matmul_fp8(a, b, c, K, IMPRECISE: tl.constexpr):
    rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    columns = tl.program_id(1) * 64 + tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 128):
        ks = start + tl.arange(0, 128)
        left = tl.load(a + rows[:, None] * K + ks[None, :])
        right = tl.load(b + columns[None, :] * K + ks[:, None])
        total = tl.dot(left, right, total, max_num_imprecise_acc=IMPRECISE)
    tl.store(c + rows[:, None] * 128 + columns[None, :], total)


@triton.jit
def half_product(a, b, c):
    rows = tl.arange(0, 64)[:, None]
    columns = tl.arange(0, 64)[None, :]
    left = tl.load(a + rows * 64 + columns)
    right = tl.load(b + rows * 64 + columns)
    total = tl.dot(left, right, out_dtype=tl.float32)
    tl.store(c + rows * 64 + columns, total.to(tl.float32))


@triton.jit
def split_k(a, b, c, K, SPLIT_K: tl.constexpr):
    rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    columns = tl.program_id(1) * 64 + tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    length = K // SPLIT_K
    first = tl.program_id(2) * length
    for start in range(first, first + length, 32):
        ks = start + tl.arange(0, 32)
        left = tl.load(a + rows[:, None] * K + ks[None, :])
        right = tl.load(b + ks[:, None] * 128 + columns[None, :])
        total += tl.dot(left, right)
    tl.atomic_add(c + rows[:, None] * 128 + columns[None, :], total)


@triton.jit
def moe(a, experts, weights, gates, c, K):
    expert = tl.load(experts + tl.program_id(0))
    rows = tl.program_id(0) * 32 + tl.arange(0, 32)
    columns = tl.program_id(1) * 64 + tl.arange(0, 64)
    total = tl.zeros((32, 64), tl.float32)
    for start in range(0, K, 64):
        ks = start + tl.arange(0, 64)
        tokens = tl.load(a + rows[:, None] * K + ks[None, :])
        weight = tl.load(weights + expert * K * 128 + ks[:, None] * 128 + columns[None, :])
        total = tl.dot(tokens, weight, total)
    gate = tl.load(gates + rows)
    total = total * gate[:, None]
    tl.store(c + rows[:, None] * 128 + columns[None, :], total.to(tl.float16))


@triton.jit
def persistent_sum(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for tile in range(tl.program_id(0), n // BLOCK, tl.num_programs(0)):
        total += tl.load(x + tile * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out + tl.arange(0, BLOCK), total)


@triton.jit
def split_rows(x, out, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    result = 0.0
    for part in tl.static_range(SPLITS):
        values = tl.load(x + row * 1024 + part * (1024 // SPLITS) + tl.arange(0, 1024 // SPLITS))
        result += tl.sum(values, axis=0)
    tl.store(out + row, result)


@triton.jit
def scatter_add(x, index, out):
    places = tl.program_id(0) * 256 + tl.arange(0, 256)
    targets = tl.load(index + places)
    tl.atomic_add(out + targets, tl.load(x + places))


@triton.jit
def loss_sum(x, out):
    places = tl.program_id(0) * 256 + tl.arange(0, 256)
    loss = tl.sum(-tl.log(tl.load(x + places)), axis=0)
    tl.atomic_add(out, loss)


@triton.jit
def axpy(x, y, out, factor):
    places = tl.program_id(0) * 512 + tl.arange(0, 512)
    left = tl.load(x + places)
    right = tl.load(y + places)
    result = left * factor + right
    tl.store(out + places, result)


@triton.jit
def rope(x, cos, sin, out):
    row = tl.program_id(0)
    half = tl.arange(0, 64)
    first = tl.load(x + row * 128 + half)
    second = tl.load(x + row * 128 + 64 + half)
    c = tl.load(cos + row * 64 + half)
    s = tl.load(sin + row * 64 + half)
    left = first * c - second * s
    right = second * c + first * s
    tl.store(out + row * 128 + half, left)
    tl.store(out + row * 128 + 64 + half, right)


@triton.jit
def stencil(x, out, a, b):
    places = tl.program_id(0) * 256 + 1 + tl.arange(0, 256)
    before = tl.load(x + places - 1)
    after = tl.load(x + places + 1)
    sides = a * before + a * after
    result = sides + b
    tl.store(out + places, result)


@triton.jit
def activation(x, bias, out):
    places = tl.program_id(0) * 256 + tl.arange(0, 256)
    hidden = tl.load(x + places) + tl.load(bias + tl.arange(0, 256))
    tl.store(out + places, gelu(hidden))


@triton.jit
def adam(parameters, gradients, momenta, squares, rate, n):
    places = tl.program_id(0) * 256 + tl.arange(0, 256)
    gradient = tl.load(gradients + places)
    momentum = 0.9 * tl.load(momenta + places) + 0.1 * gradient
    square = 0.999 * tl.load(squares + places) + 0.001 * gradient * gradient
    root = tl.sqrt(square)
    update = momentum / (root + 1e-8)
    tl.store(parameters + places, tl.load(parameters + places) - rate * update)
    tl.store(momenta + places, momentum)
    tl.store(squares + places, square)


@triton.jit
def quantize(x, scales, out):
    row = tl.program_id(0)
    places = row * 512 + tl.arange(0, 512)
    values = tl.load(x + places)
    scale = tl.max(tl.abs(values), axis=0) / 127.0
    scaled = values / scale
    rounded = libdevice.rint(scaled)
    tl.store(scales + row, scale)
    tl.store(out + places, rounded.to(tl.int8))


@triton.jit
def cast(x, out, TYPE: tl.constexpr, ROUNDING: tl.constexpr):
    places = tl.program_id(0) * 512 + tl.arange(0, 512)
    values = tl.load(x + places) * 1.5
    short = values.to(TYPE, fp_downcast_rounding=ROUNDING)
    tl.store(out + places, short)


@triton.jit
def library(x, out):
    places = tl.program_id(0) * 256 + tl.arange(0, 256)
    values = tl.load(x + places)
    sharp = libdevice.rsqrt(values)
    tl.store(out + places, sharp + 1.0)


@triton.jit
def powers(x, out):
    places = tl.program_id(0) * 256 + tl.arange(0, 256)
    values = tl.load(x + places)
    power = tl.exp2(values)
    tl.store(out + places, power)


@triton.jit
def clamped(x, y, out):
    places = tl.program_id(0) * 256 + tl.arange(0, 256)
    a = tl.load(x + places)
    b = tl.load(y + places)
    larger = tl.maximum(a, b)
    tl.store(out + places, larger * 2.0)


@triton.jit
def dropout(x, out, seed, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    places = start + tl.arange(0, BLOCK)
    counters = start + tl.arange(0, BLOCK)
    random = tl.rand(seed, counters)
    values = tl.load(x + places)
    tl.store(out + places, tl.where(random > 0.1, values * 1.25, 0.0))


@triton.jit
def dropout_by_block(x, out, seed, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places)
    random = tl.rand(seed + tl.program_id(0), tl.arange(0, BLOCK))
    tl.store(out + places, tl.where(random > 0.1, values * 1.25, 0.0))
