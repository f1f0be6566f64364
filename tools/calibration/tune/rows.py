"""Reductions and scans of rows and columns: norms, losses, sums, quantization, sorting."""

import torch
import triton
import triton.language as tl

from tools.calibration.tune.matmuls import half
from tools.calibration.tune.spaces import Space, cdiv, product


@triton.jit
def cross_entropy(logits, labels, losses, V, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = float("-inf")
    total = 0.0
    for v in range(0, V, B):
        i = v + tl.arange(0, B)
        x = tl.load(logits + row * V + i, mask=i < V, other=float("-inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), 0)
        top = new
    label = tl.load(logits + row * V + tl.load(labels + row)).to(tl.float32)
    loss = top + tl.log(total) - label
    tl.store(losses + row, loss)
    for v in range(0, V, B):
        i = v + tl.arange(0, B)
        x = tl.load(logits + row * V + i, mask=i < V).to(tl.float32)
        tl.store(logits + row * V + i, (tl.exp(x - top) / total * 1e-3).to(tl.bfloat16), mask=i < V)


@triton.jit
def layer_norm(x, w, b, y, R, C, eps, RB: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * RB + tl.arange(0, RB)
    c = tl.arange(0, B)
    inside = (r < R)[:, None] & (c < C)[None, :]
    t = tl.load(x + r[:, None] * C + c[None, :], mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(t, 1) / C
    d = tl.where(inside, t - mean[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(d * d, 1) / C + eps)
    out = d * scale[:, None] * tl.load(w + c, mask=c < C)[None, :] + tl.load(b + c, mask=c < C)[None, :]
    tl.store(y + r[:, None] * C + c[None, :], out.to(tl.float16), mask=inside)


@triton.jit
def layer_norm_backward(x, dy, w, dx, dw, db, R, C, eps, RB: tl.constexpr, B: tl.constexpr):
    """Each program loops over its rows and adds its part of dw and db at the end."""
    c = tl.arange(0, B)
    inside = c < C
    weight = tl.load(w + c, mask=inside, other=0.0).to(tl.float32)
    sum_w = tl.zeros((B,), tl.float32)
    sum_b = tl.zeros((B,), tl.float32)
    for r in range(tl.program_id(0) * RB, min(tl.program_id(0) * RB + RB, R)):
        t = tl.load(x + r * C + c, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(dy + r * C + c, mask=inside, other=0.0).to(tl.float32)
        mean = tl.sum(t, 0) / C
        d = tl.where(inside, t - mean, 0.0)
        scale = tl.rsqrt(tl.sum(d * d, 0) / C + eps)
        normed = d * scale
        wg = weight * g
        out = (wg - (normed * tl.sum(normed * wg, 0) + tl.sum(wg, 0)) / C) * scale
        tl.store(dx + r * C + c, out.to(tl.float16), mask=inside)
        sum_w += g * normed
        sum_b += g
    tl.atomic_add(dw + c, sum_w, mask=inside, sem="relaxed")
    tl.atomic_add(db + c, sum_b, mask=inside, sem="relaxed")


@triton.jit
def quantize_rows(x, q, scales, C, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = tl.zeros((B,), tl.float32)
    for c in range(0, C, B):
        i = c + tl.arange(0, B)
        top = tl.maximum(top, tl.abs(tl.load(x + row * C + i, mask=i < C, other=0.0).to(tl.float32)))
    scale = tl.max(top, 0) / 127 + 1e-9
    tl.store(scales + row, scale)
    for c in range(0, C, B):
        i = c + tl.arange(0, B)
        value = tl.load(x + row * C + i, mask=i < C, other=0.0).to(tl.float32) / scale
        tl.store(q + row * C + i, (value + tl.where(value < 0, -0.5, 0.5)).to(tl.int8), mask=i < C)


@triton.jit
def column_sum(x, o, R, C, BR: tl.constexpr, BC: tl.constexpr, PARTS: tl.constexpr):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    acc = tl.zeros((BR, BC), tl.float32)
    for r in range(tl.program_id(1) * BR, R, BR * PARTS):
        rows = r + tl.arange(0, BR)
        acc += tl.load(
            x + rows[:, None] * C + c[None, :], mask=(rows < R)[:, None] & (c < C)[None, :], other=0.0
        )
    tl.atomic_add(o + c, tl.sum(acc, 0), mask=c < C, sem="relaxed")


@triton.jit
def running_sum(x, o, C, RB: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * RB + tl.arange(0, RB)
    carry = tl.zeros((RB,), tl.float32)
    for c in range(0, C, B):
        at = r[:, None] * C + c + tl.arange(0, B)[None, :]
        t = tl.load(x + at).to(tl.float32)
        tl.store(o + at, tl.cumsum(t, 1) + carry[:, None])
        carry += tl.sum(t, 1)


@triton.jit
def best_index(x, values, indices, R, C, RB: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * RB + tl.arange(0, RB)
    best = tl.full((RB,), float("-inf"), tl.float32)
    index = tl.zeros((RB,), tl.int32)
    for c in range(0, C, B):
        i = c + tl.arange(0, B)
        t = tl.load(
            x + r[:, None] * C + i[None, :], mask=(r < R)[:, None] & (i < C)[None, :], other=float("-inf")
        )
        value, place = tl.max(t, 1, return_indices=True)
        index = tl.where(value > best, c + place, index)
        best = tl.maximum(best, value)
    tl.store(values + r, best, mask=r < R)
    tl.store(indices + r, index, mask=r < R)


@triton.jit
def sort_rows(x, o, RB: tl.constexpr, B: tl.constexpr):
    at = (tl.program_id(0) * RB + tl.arange(0, RB))[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(o + at, tl.sort(tl.load(x + at)))


@triton.jit
def softmax_backward(y, dy, dx, C, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    acc = tl.zeros((B,), tl.float32)
    for c in range(0, C, B):
        i = c + tl.arange(0, B)
        p = tl.load(y + row * C + i, mask=i < C, other=0.0).to(tl.float32)
        acc += p * tl.load(dy + row * C + i, mask=i < C, other=0.0).to(tl.float32)
    dot = tl.sum(acc, 0)
    for c in range(0, C, B):
        i = c + tl.arange(0, B)
        p = tl.load(y + row * C + i, mask=i < C, other=0.0).to(tl.float32)
        g = tl.load(dy + row * C + i, mask=i < C, other=0.0).to(tl.float32)
        tl.store(dx + row * C + i, (p * (g - dot)).to(tl.float16), mask=i < C)


def _floats(*shape):
    return torch.randn(*shape, device="cuda")


def _entropy_tensors(shape):
    rows, vocabulary = shape
    labels = torch.randint(0, vocabulary, (rows,), device="cuda")
    return half(*shape).bfloat16(), labels, _floats(rows)


def _backward_tensors(shape):
    gradients = torch.zeros(2, shape[1], device="cuda")
    return half(*shape), half(*shape), half(shape[1]), half(*shape), gradients[0], gradients[1]


def _quantize_tensors(shape):
    return half(*shape), torch.empty(shape, device="cuda", dtype=torch.int8), _floats(shape[0])


def _best_tensors(shape):
    return _floats(*shape), _floats(shape[0]), torch.empty(shape[0], device="cuda", dtype=torch.int32)


def _per_row(tensors, shape, config):
    return (*tensors, shape[1]), (shape[0],)


def _row_blocks(shape, config):
    return (cdiv(shape[0], config["RB"]),)


WARPS = [1, 2, 4, 8, 16]
SPACES = (
    Space("cross_entropy", cross_entropy, product(B=[512, 1024, 2048, 4096, 8192, 16384, 32768], num_warps=[2, 4, 8, 16, 32]),
          [(4096, 32000), (1024, 128256)], _entropy_tensors, _per_row),
    Space("layer_norm", layer_norm, product(B=[2048], RB=[1, 2, 4, 8], num_warps=WARPS) + product(B=[4096], RB=[1, 2, 4], num_warps=WARPS),
          [(16384, 2048), (2048, 1600)], lambda s: (half(*s), half(s[1]), half(s[1]), half(*s)),
          lambda t, s, c: ((*t, *s, 1e-5), _row_blocks(s, c))),
    Space("layer_norm_backward", layer_norm_backward, product(B=[4096], RB=[1, 4, 8, 16, 32, 64, 128], num_warps=WARPS),
          [(8192, 4096), (4096, 3000)], _backward_tensors, lambda t, s, c: ((*t, *s, 1e-5), _row_blocks(s, c))),
    Space("quantize_rows", quantize_rows, product(B=[256, 512, 1024, 2048, 4096, 8192], num_warps=WARPS), [(16384, 4096), (2048, 14336)],
          _quantize_tensors, _per_row),
    Space("column_sum", column_sum, product(BR=[4, 16, 32, 64], BC=[16, 32, 64, 128], PARTS=[4, 16, 64], num_warps=[1, 4, 8]),
          [(16384, 4096), (65536, 512)], lambda s: (_floats(*s), torch.zeros(s[1], device="cuda")),
          lambda t, s, c: ((*t, *s), (cdiv(s[1], c["BC"]), c["PARTS"]))),
    Space("running_sum", running_sum, product(RB=[1, 2, 4, 8], B=[128, 256, 512, 1024, 2048], num_warps=[1, 2, 4, 8]),
          [(4096, 8192), (512, 32768)], lambda s: (half(*s), _floats(*s)), lambda t, s, c: ((*t, s[1]), _row_blocks(s, c))),
    Space("best_index", best_index, product(RB=[1, 2, 4, 8], B=[128, 512, 1024, 2048, 4096], num_warps=[1, 2, 4, 8, 16]),
          [(8192, 8192), (512, 50257)], _best_tensors, lambda t, s, c: ((*t, *s), _row_blocks(s, c))),
    Space("sort_rows", sort_rows, product(RB=[1, 2, 4, 8], B=[512], num_warps=[1, 2, 4, 8]), [(32768, 512), (2048, 512)],
          lambda s: (_floats(*s), _floats(*s)), lambda t, s, c: (t, _row_blocks(s, c))),
    Space("softmax_backward", softmax_backward, product(B=[256, 512, 1024, 2048, 4096, 8192], num_warps=WARPS),
          [(16384, 4096), (4096, 16384)], lambda s: (half(*s), half(*s), half(*s)), _per_row),
)  # fmt: skip
