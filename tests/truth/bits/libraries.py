"""Does what libraries of layers do: norms, losses, quantization, embeddings, convolutions, statistics."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.bits.space import Arguments, Config, Data, Grid, Space, cdiv, product, unfused


@triton.jit
def layer_norm(x, w, b, o, mean_out, scale_out, columns, eps, B: tl.constexpr, PASSES: tl.constexpr):
    """Normalizes rows; the variance takes a second pass, or is the mean of squares less the square of the mean."""
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    squares = tl.zeros((B,), tl.float32)
    for start in range(0, columns, B):
        i = start + tl.arange(0, B)
        value = tl.load(x + row * columns + i, mask=i < columns, other=0.0).to(tl.float32)
        total += value
        squares += value * value
    mean = tl.sum(total) / columns
    if PASSES == 2:
        squares = tl.zeros((B,), tl.float32)
        for start in range(0, columns, B):
            i = start + tl.arange(0, B)
            value = tl.load(x + row * columns + i, mask=i < columns, other=0.0).to(tl.float32)
            value = tl.where(i < columns, value - mean, 0.0)
            squares += value * value
        variance = tl.sum(squares) / columns
    else:
        variance = tl.sum(squares) / columns - mean * mean
    scale = tl.rsqrt(variance + eps)
    for start in range(0, columns, B):
        i = start + tl.arange(0, B)
        inside = i < columns
        value = tl.load(x + row * columns + i, mask=inside, other=0.0).to(tl.float32)
        weight, bias = tl.load(w + i, mask=inside).to(tl.float32), tl.load(b + i, mask=inside).to(tl.float32)
        tl.store(o + row * columns + i, ((value - mean) * scale * weight + bias).to(tl.float16), mask=inside)
    tl.store(mean_out + row, mean)
    tl.store(scale_out + row, scale)


@triton.jit
def group_norm(x, w, b, o, pixels, channels, GROUP: tl.constexpr, P: tl.constexpr, C: tl.constexpr):
    """Normalizes each group of channels of an image whose channels are the last axis."""
    image, group = tl.program_id(0), tl.program_id(1)
    channel = group * GROUP + tl.arange(0, C)
    inside = tl.arange(0, C)[None, :] < GROUP
    base = image * pixels * channels
    total = 0.0
    squares = 0.0
    for start in range(0, pixels, P):
        pixel = start + tl.arange(0, P)
        place = base + pixel[:, None] * channels + channel[None, :]
        value = tl.load(x + place, mask=inside & (pixel[:, None] < pixels), other=0.0)
        total += tl.sum(value)
        squares += tl.sum(value * value)
    count = pixels * GROUP
    mean = total / count
    scale = 1.0 / tl.sqrt(squares / count - mean * mean + 1e-5)
    weight = tl.load(w + channel, mask=tl.arange(0, C) < GROUP, other=0.0)
    bias = tl.load(b + channel, mask=tl.arange(0, C) < GROUP, other=0.0)
    for start in range(0, pixels, P):
        pixel = start + tl.arange(0, P)
        place = base + pixel[:, None] * channels + channel[None, :]
        written = inside & (pixel[:, None] < pixels)
        value = tl.load(x + place, mask=written, other=0.0)
        tl.store(o + place, (value - mean) * scale * weight[None, :] + bias[None, :], mask=written)


@triton.jit
def batch_statistics(x, mean, variance, rows, columns, momentum, RB: tl.constexpr, CB: tl.constexpr):
    """Updates the running mean and variance of each column in place."""
    column = tl.program_id(0) * CB + tl.arange(0, CB)
    total = tl.zeros((RB, CB), tl.float32)
    squares = tl.zeros((RB, CB), tl.float32)
    for start in range(0, rows, RB):
        row = start + tl.arange(0, RB)
        value = tl.load(x + row[:, None] * columns + column[None, :], mask=row[:, None] < rows, other=0.0).to(
            tl.float32
        )
        total += value
        squares += value * value
    average = tl.sum(total, 0) / rows
    spread = tl.sum(squares, 0) / rows - average * average
    tl.store(mean + column, (1 - momentum) * tl.load(mean + column) + momentum * average)
    tl.store(variance + column, (1 - momentum) * tl.load(variance + column) + momentum * spread)


@triton.jit
def rms_backward(
    grad, x, w, scale, dx, dw, rows, columns, B: tl.constexpr, ROWS: tl.constexpr, ATOMIC: tl.constexpr
):
    """Computes gradients of an RMS norm; those of the weights are added per program, or by atomics."""
    i = tl.arange(0, B)
    inside = i < columns
    weight = tl.load(w + i, mask=inside, other=0.0)
    total = tl.zeros((B,), tl.float32)
    for index in range(ROWS):
        row = tl.program_id(0) * ROWS + index
        d = tl.load(grad + row * columns + i, mask=inside, other=0.0)
        value = tl.load(x + row * columns + i, mask=inside, other=0.0) * tl.load(scale + row)
        c = tl.sum(d * weight * value) / columns
        tl.store(dx + row * columns + i, (d * weight - value * c) * tl.load(scale + row), mask=inside)
        total += d * value
    if ATOMIC:
        tl.atomic_add(dw + i, total, mask=inside)
    else:
        tl.store(dw + tl.program_id(0) * columns + i, total, mask=inside)


@triton.jit
def dropout_add_norm(x, residual, w, o, columns, seed, rate, B: tl.constexpr):
    """Drops, adds the residual in place, and normalizes."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    inside = i < columns
    place = row * columns + i
    kept = tl.rand(seed, place) > rate
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    value = tl.where(kept, value / (1 - rate), 0.0) + tl.load(residual + place, mask=inside, other=0.0).to(
        tl.float32
    )
    tl.store(residual + place, value.to(tl.bfloat16), mask=inside)
    scale = tl.rsqrt(tl.sum(value * value) / columns + 1e-6)
    tl.store(o + place, (value * scale * tl.load(w + i, mask=inside)).to(tl.bfloat16), mask=inside)


@triton.jit
def smoothed_cross_entropy(logits, labels, losses, classes, smoothing, B: tl.constexpr):
    """Computes the loss of each row and writes the gradients over the logits."""
    row = tl.program_id(0)
    label = tl.load(labels + row)
    most = float("-inf")
    total = 0.0
    sum_all = 0.0
    for start in range(0, classes, B):
        i = start + tl.arange(0, B)
        value = tl.load(logits + row * classes + i, mask=i < classes, other=float("-inf")).to(tl.float32)
        new = tl.maximum(most, tl.max(value))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(value - new))
        sum_all += tl.sum(tl.where(i < classes, value, 0.0))
        most = new
    log_total = most + tl.log(total)
    target = tl.load(logits + row * classes + label).to(tl.float32)
    loss = (1 - smoothing) * (log_total - target) + smoothing * (log_total - sum_all / classes)
    tl.store(losses + row, loss)
    tl.debug_barrier()
    for start in range(0, classes, B):
        i = start + tl.arange(0, B)
        value = tl.load(logits + row * classes + i, mask=i < classes, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(value - log_total) - smoothing / classes
        gradient = tl.where(i == label, gradient - (1 - smoothing), gradient)
        tl.store(logits + row * classes + i, gradient.to(tl.bfloat16), mask=i < classes)


@triton.jit
def softmax_backward(y, grad, o, columns, RB: tl.constexpr, B: tl.constexpr):
    """Computes the gradient of a softmax."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    place = row[:, None] * columns + tl.arange(0, B)[None, :]
    value, d = tl.load(y + place), tl.load(grad + place)
    tl.store(o + place, value * (d - tl.sum(value * d, 1)[:, None]))


@triton.jit
def embedding_bag(table, tokens, offsets, weights, o, width, WB: tl.constexpr, UNROLL: tl.constexpr):
    """Adds the weighted rows of each bag."""
    bag = tl.program_id(0)
    column = tl.program_id(1) * WB + tl.arange(0, WB)
    first, last = tl.load(offsets + bag), tl.load(offsets + bag + 1)
    total = tl.zeros((WB,), tl.float32)
    for index in tl.range(first, last, loop_unroll_factor=UNROLL):
        token = tl.load(tokens + index)
        total += tl.load(weights + index) * tl.load(table + token * width + column).to(tl.float32)
    tl.store(o + bag * width + column, total / tl.maximum(last - first, 1))


@triton.jit
def quantized_rows(x, o, scales, columns, RB: tl.constexpr, B: tl.constexpr, KIND: tl.constexpr):
    """Quantizes rows by their largest element, to int8 or to 8-bit floats."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    place = row[:, None] * columns + tl.arange(0, B)[None, :]
    value = tl.load(x + place).to(tl.float32)
    if KIND == 0:
        scale = tl.max(tl.abs(value), 1) / 127.0
        rounded = tl.floor(value / scale[:, None] + 0.5).to(tl.int8)
    else:
        scale = tl.max(tl.abs(value), 1) / 448.0
        rounded = (value / scale[:, None]).to(tl.float8e4nv).to(tl.int8, bitcast=True)
    tl.store(o + place, rounded)
    tl.store(scales + row, scale)


@triton.jit
def kl_divergence(p, q, o, rows, columns, RB: tl.constexpr, CB: tl.constexpr):
    """Adds p * (log p - log q) over blocks of both axes, to one number per program."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    total = 0.0
    for start in range(0, columns, CB):
        place = row[:, None] * columns + start + tl.arange(0, CB)[None, :]
        a, b = tl.load(p + place), tl.load(q + place)
        total += tl.sum(a * (tl.log(a) - tl.log(b)))
    tl.store(o + tl.program_id(0), total)


@triton.jit
def depthwise_conv(x, w, o, height, width, channels, XB: tl.constexpr, CB: tl.constexpr):
    """Convolves each channel of an image by 3 x 3 weights."""
    line = tl.program_id(0)
    column = tl.program_id(1) * XB + tl.arange(0, XB)
    channel = tl.program_id(2) * CB + tl.arange(0, CB)
    total = tl.zeros((XB, CB), tl.float32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            y, z = line + dy - 1, column + dx - 1
            inside = (y >= 0) & (y < height) & (z >= 0) & (z < width)
            value = tl.load(
                x + (y * width + z)[:, None] * channels + channel[None, :], mask=inside[:, None], other=0.0
            )
            total += value * tl.load(w + (dy * 3 + dx) * channels + channel)[None, :]
    place = (line * width + column)[:, None] * channels + channel[None, :]
    tl.store(o + place, total, mask=column[:, None] < width)


@triton.jit
def implicit_conv(
    x, w, o, height, width, channels, outputs,
    PB: tl.constexpr, OB: tl.constexpr, CB: tl.constexpr,
):  # fmt: skip
    """Convolves by 3 x 3 weights as a product, over places and channels."""
    pixel = tl.program_id(0) * PB + tl.arange(0, PB)
    output = tl.program_id(1) * OB + tl.arange(0, OB)
    y, z = pixel // width, pixel % width
    total = tl.zeros((PB, OB), tl.float32)
    for place in range(9):
        row, column = y + place // 3 - 1, z + place % 3 - 1
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        for start in range(0, channels, CB):
            channel = start + tl.arange(0, CB)
            a = tl.load(
                x + (row * width + column)[:, None] * channels + channel[None, :],
                mask=inside[:, None],
                other=0.0,
            )
            b = tl.load(w + (place * channels + channel)[:, None] * outputs + output[None, :])
            total = tl.dot(a, b, total)
    tl.store(o + pixel[:, None] * outputs + output[None, :], total, mask=pixel[:, None] < height * width)


@triton.jit
def low_rank(x, a, b, base, o, k, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, R: tl.constexpr):
    """Adds x @ a @ b to the base, with a small inner size."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, R)
    small = tl.zeros((BM, R), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        left = tl.load(x + rows[:, None] * k + depth[None, :])
        small = tl.dot(left, tl.load(a + depth[:, None] * R + inner[None, :]), small)
    right = tl.load(b + inner[:, None] * n + columns[None, :])
    total = tl.dot((small * 0.5).to(tl.bfloat16), right)
    place = rows[:, None] * n + columns[None, :]
    tl.store(o + place, (total + tl.load(base + place).to(tl.float32)).to(tl.bfloat16))


@triton.jit
def jagged_softmax(x, offsets, o, B: tl.constexpr):
    """Computes the softmax of each segment, in one block or in several."""
    segment = tl.program_id(0)
    first, last = tl.load(offsets + segment), tl.load(offsets + segment + 1)
    most = tl.full((B,), float("-inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    for start in range(first, last, B):
        i = start + tl.arange(0, B)
        value = tl.load(x + i, mask=i < last, other=float("-inf"))
        new = tl.maximum(most, value)
        safe = tl.where(new == float("-inf"), 0.0, new)
        total = total * tl.exp(most - safe) + tl.exp(value - safe)
        most = new
    best = tl.max(most)
    whole = tl.sum(total * tl.exp(most - best))
    for start in range(first, last, B):
        i = start + tl.arange(0, B)
        tl.store(o + i, tl.exp(tl.load(x + i, mask=i < last) - best) / whole, mask=i < last)


def _layer_norm(data: Data) -> Arguments:
    x, w, b = (data.normal(*shape, dtype=torch.float16) for shape in ((64, 1500), (1500,), (1500,)))
    return x, w, b, data.zeros(64, 1500, dtype=torch.float16), data.zeros(64), data.zeros(64), 1500, 1e-5


def _group_norm(data: Data) -> Arguments:
    return data.normal(4, 100, 96), data.normal(96), data.normal(96), data.zeros(4, 100, 96), 100, 96


def _statistics(data: Data) -> Arguments:
    return data.normal(700, 128, dtype=torch.float16), data.normal(128), data.uniform(128), 700, 128, 0.1


def _rms(data: Data) -> Arguments:
    grad, x, w, scale = (
        data.normal(64, 500),
        data.normal(64, 500),
        data.normal(500),
        data.uniform(64, low=0.8, high=1.2),
    )
    return grad, x, w, scale, data.zeros(64, 500), data.zeros(64, 500), 64, 500


def _dropout_add(data: Data) -> Arguments:
    x, residual = (data.normal(64, 1000, dtype=torch.bfloat16) for _ in range(2))
    return x, residual, data.normal(1000), data.zeros(64, 1000, dtype=torch.bfloat16), 1000, 77, 0.2


def _cross_entropy(data: Data) -> Arguments:
    return data.normal(64, 3000, dtype=torch.bfloat16), data.integers(0, 3000, 64), data.zeros(64), 3000, 0.1


def _softmax(data: Data) -> Arguments:
    return data.uniform(128, 512, high=0.004), data.normal(128, 512), data.zeros(128, 512), 512


def _bags(data: Data) -> Arguments:
    offsets = data.listed([0, 0, 1, 4, 20, 21, 50, 99, 100])
    table, tokens = data.normal(300, 256, dtype=torch.float16), data.integers(0, 300, 100)
    return table, tokens, offsets, data.uniform(100), data.zeros(8, 256), 256


def _divergence(data: Data) -> Arguments:
    return data.uniform(128, 512, low=0.1), data.uniform(128, 512, low=0.1), data.zeros(128), 128, 512


def _depthwise(data: Data) -> Arguments:
    return data.normal(14, 14, 64), data.normal(9, 64), data.zeros(14, 14, 64), 14, 14, 64


def _implicit(data: Data) -> Arguments:
    x, w = data.normal(14, 14, 64, dtype=torch.float16), data.normal(9, 64, 64, dtype=torch.float16)
    return x, w, data.zeros(14, 14, 64), 14, 14, 64, 64


def _low_rank(data: Data) -> Arguments:
    shapes = ((128, 256), (256, 16), (16, 128), (128, 128))
    tensors = (data.normal(*shape, dtype=torch.bfloat16) for shape in shapes)
    return *tensors, data.zeros(128, 128, dtype=torch.bfloat16), 256, 128


def _segments(data: Data) -> Arguments:
    offsets = data.listed([0, 5, 6, 100, 400, 1000, 1100, 1990, 2000])
    return data.normal(2000), offsets, data.zeros(2000)


def _rows(rows: int) -> object:
    def grid(_config: Config) -> Grid:
        return (rows,)

    return grid


_WARPS = [1, 2, 4, 8, 16]
_LOOP = {"B": [64, 128, 256, 512, 1024, 2048], "num_warps": _WARPS}

SPACES = [
    Space("layer_norm", layer_norm, unfused(product(PASSES=[1, 2], **_LOOP)), (64, 1500), _layer_norm, _rows(64)),
    Space(
        "group_norm",
        group_norm,
        unfused(product(64, GROUP=[6, 12, 24], P=[8, 16, 32, 64, 128], C=[32], num_warps=_WARPS)),
        (4, 100, 96),
        _group_norm,
        lambda config: (4, 96 // config["GROUP"]),
    ),
    Space(
        "batch_statistics",
        batch_statistics,
        unfused(product(80, RB=[1, 4, 16, 64, 128], CB=[8, 16, 32, 64], num_warps=_WARPS[:4], num_stages=[2, 4])),
        (700, 128),
        _statistics,
        lambda config: (128 // config["CB"],),
    ),
    Space(
        "rms_backward",
        rms_backward,
        unfused(product(80, B=[512], ROWS=[1, 2, 4, 16, 64], ATOMIC=[False, True], num_warps=_WARPS, num_stages=[1, 3])),
        (64, 500),
        _rms,
        lambda config: (64 // config["ROWS"],),
    ),
    Space(
        "dropout_add_norm",
        dropout_add_norm,
        unfused(product(B=[1024, 2048, 4096], num_warps=_WARPS)),
        (64, 1000),
        _dropout_add,
        _rows(64),
    ),
    Space("smoothed_cross_entropy", smoothed_cross_entropy, unfused(product(**_LOOP)), (64, 3000), _cross_entropy, _rows(64)),
    Space(
        "softmax_backward",
        softmax_backward,
        unfused(product(RB=[1, 2, 4, 8, 16], B=[512], num_warps=_WARPS)),
        (128, 512),
        _softmax,
        lambda config: (128 // config["RB"],),
    ),
    Space(
        "embedding_bag",
        embedding_bag,
        unfused(product(WB=[32, 64, 128, 256], UNROLL=[1, 2, 4], num_warps=_WARPS[:4])),
        (8, 100, 256),
        _bags,
        lambda config: (8, 256 // config["WB"]),
    ),
    Space(
        "quantized_rows",
        quantized_rows,
        unfused(product(RB=[1, 2, 4, 8, 16], B=[512], KIND=[0, 1], num_warps=_WARPS)),
        (128, 512),
        lambda data: (data.normal(128, 512, dtype=torch.bfloat16), data.zeros(128, 512, dtype=torch.int8), data.zeros(128), 512),
        lambda config: (128 // config["RB"],),
    ),
    Space(
        "kl_divergence",
        kl_divergence,
        unfused(product(64, RB=[1, 2, 4, 8], CB=[32, 64, 128, 256, 512], num_warps=_WARPS)),
        (128, 512),
        _divergence,
        lambda config: (128 // config["RB"],),
    ),
    Space(
        "depthwise_conv",
        depthwise_conv,
        unfused(product(XB=[2, 4, 8, 16], CB=[16, 32, 64], num_warps=_WARPS[:4])),
        (14, 14, 64),
        _depthwise,
        lambda config: (14, cdiv(14, config["XB"]), 64 // config["CB"]),
    ),
    Space(
        "implicit_conv",
        implicit_conv,
        unfused(product(56, PB=[16, 32, 64, 128], OB=[16, 32, 64], CB=[16, 32, 64], num_warps=[2, 4, 8], num_stages=[1, 3])),
        (14, 14, 64, 64),
        _implicit,
        lambda config: (cdiv(196, config["PB"]), 64 // config["OB"]),
    ),
    Space(
        "low_rank",
        low_rank,
        unfused(product(48, BM=[16, 32, 64, 128], BN=[16, 32, 64], BK=[32, 64], R=[16], num_warps=[2, 4, 8], num_stages=[1, 3])),
        (128, 128, 256, 16),
        _low_rank,
        lambda config: (128 // config["BM"], 128 // config["BN"]),
    ),
    Space("jagged_softmax", jagged_softmax, unfused(product(**_LOOP)), (8, 2000), _segments, _rows(8)),
]  # fmt: skip
