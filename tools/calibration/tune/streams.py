"""Element by element, and irregular access: activations, gathers, atomics, stencils, strides, random numbers."""

import torch
import triton
import triton.language as tl

from tools.calibration.tune.matmuls import half
from tools.calibration.tune.spaces import Space, cdiv, product


@triton.jit
def gelu_mul(x, g, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    t = tl.load(x + i, mask=i < n).to(tl.float32)
    u = tl.load(g + i, mask=i < n).to(tl.float32)
    s = 1.5957691 * (t + 0.044715 * t * t * t)
    tl.store(o + i, (t * tl.sigmoid(s) * u).to(tl.bfloat16), mask=i < n)


@triton.jit
def polynomial(x, o, n, STEPS: tl.constexpr, B: tl.constexpr):
    """Compute bound: STEPS multiply-adds and a sine per element."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    t = tl.load(x + i, mask=i < n)
    a = t
    for _ in tl.static_range(STEPS):
        a = a * t + 0.5
        a = tl.sin(a)
    tl.store(o + i, a, mask=i < n)


@triton.jit
def dropout(x, o, n, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, i) > 0.1
    tl.store(o + i, tl.where(keep, tl.load(x + i, mask=i < n) / 0.9, 0.0), mask=i < n)


@triton.jit
def rotary(x, cos, sin, T, H, D: tl.constexpr, BH: tl.constexpr):
    """Rotates the halves of each head in place; a program has one token and BH heads."""
    t = tl.program_id(0)
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    d = tl.arange(0, D // 2)
    inside = (h < H)[:, None]
    at = t.to(tl.int64) * H * D + h[:, None] * D + d[None, :]
    c = tl.load(cos + t * (D // 2) + d)[None, :]
    s = tl.load(sin + t * (D // 2) + d)[None, :]
    a = tl.load(x + at, mask=inside).to(tl.float32)
    b = tl.load(x + at + D // 2, mask=inside).to(tl.float32)
    tl.store(x + at, (a * c - b * s).to(tl.float16), mask=inside)
    tl.store(x + at + D // 2, (b * c + a * s).to(tl.float16), mask=inside)


@triton.jit
def gather_rows(table, index, o, C, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    source = tl.load(index + r)
    tl.store(o + r[:, None] * C + c[None, :], tl.load(table + source[:, None] * C + c[None, :]))


@triton.jit
def bag_sum(table, index, o, C, K: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    acc = tl.zeros((BC,), tl.float32)
    for j in range(K):
        acc += tl.load(table + tl.load(index + row * K + j) * C + c).to(tl.float32)
    tl.store(o + row * C + c, acc.to(tl.float16))


@triton.jit
def histogram(x, counts, n, B: tl.constexpr, STEPS: tl.constexpr):
    for step in range(STEPS):
        i = (tl.program_id(0) * STEPS + step) * B + tl.arange(0, B)
        tl.atomic_add(counts + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n, sem="relaxed")


@triton.jit
def stencil(x, o, H, W, BH: tl.constexpr, BW: tl.constexpr):
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    w = tl.program_id(0) * BW + tl.arange(0, BW)
    at = h[:, None] * W + w[None, :]
    inside = ((h > 0) & (h < H - 1))[:, None] & ((w > 0) & (w < W - 1))[None, :]
    t = tl.load(x + at, mask=inside, other=0.0) * 4
    t -= tl.load(x + at - W, mask=inside, other=0.0) + tl.load(x + at + W, mask=inside, other=0.0)
    t -= tl.load(x + at - 1, mask=inside, other=0.0) + tl.load(x + at + 1, mask=inside, other=0.0)
    tl.store(o + at, t, mask=inside)


@triton.jit
def swap_middle(x, o, S, H, D: tl.constexpr, BS: tl.constexpr, BH: tl.constexpr):
    """[S, H, D] to [H, S, D]."""
    s = tl.program_id(0) * BS + tl.arange(0, BS)
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    d = tl.arange(0, D)
    t = tl.load(x + (s[:, None, None] * H + h[None, :, None]) * D + d[None, None, :])
    tl.store(o + (h[None, :, None] * S + s[:, None, None]) * D + d[None, None, :], t)


@triton.jit
def conv2d(
    x, w, o, H, W, C: tl.constexpr, F: tl.constexpr, BP: tl.constexpr, BF: tl.constexpr, BC: tl.constexpr
):
    """3x3, channels last, as an implicit product: BP pixels of a row by BF filters."""
    row = tl.program_id(0) // tl.cdiv(W, BP)
    pixel = tl.program_id(0) % tl.cdiv(W, BP) * BP + tl.arange(0, BP)
    f = tl.program_id(1) * BF + tl.arange(0, BF)
    acc = tl.zeros((BP, BF), tl.float32)
    for tap in range(9):
        y, z = row + tap // 3 - 1, pixel + tap % 3 - 1
        inside = (y >= 0) & (y < H) & (z >= 0) & (z < W)
        for first in range(0, C, BC):
            c = first + tl.arange(0, BC)
            a = tl.load(x + (y * W + z)[:, None] * C + c[None, :], mask=inside[:, None], other=0.0)
            acc = tl.dot(a, tl.load(w + (tap * C + c)[:, None] * F + f[None, :]), acc)
    tl.store(o + (row * W + pixel)[:, None] * F + f[None, :], acc.to(tl.float16), mask=(pixel < W)[:, None])


def _floats(*shape):
    return torch.randn(*shape, device="cuda")


def _halves(count):
    return lambda s: tuple(half(*s).bfloat16() for _ in range(count))


def _rotary_tensors(shape):
    t, h, d = shape
    return half(t, h, d), _floats(t, d // 2), _floats(t, d // 2)


def _gather_tensors(shape):
    rows, table, c = shape
    return half(table, c), torch.randint(0, table, (rows,), device="cuda"), half(rows, c)


def _bag_tensors(shape):
    rows, table, c = shape
    return half(table, c), torch.randint(0, table, (rows, 32), device="cuda"), half(rows, c)


def _histogram_tensors(shape):
    n, bins = shape
    return torch.randint(0, bins, (n,), device="cuda"), torch.zeros(bins, device="cuda", dtype=torch.int32)


def _conv_tensors(shape):
    h, w, c, f = shape
    return half(h, w, c), half(9, c, f), half(h, w, f)


def _flat(tensors, shape, config):
    return (*tensors, shape[0]), (cdiv(shape[0], config["B"]),)


WARPS = [1, 2, 4, 8, 16]
SPACES = (
    Space("gelu_mul", gelu_mul, product(B=[128, 256, 512, 1024, 2048, 4096, 8192], num_warps=WARPS), [(1 << 26,), (3 << 20,)], _halves(3), _flat),
    Space("polynomial", polynomial, product(STEPS=[8], B=[64, 128, 256, 512, 1024, 2048, 4096, 8192], num_warps=WARPS),
          [(1 << 25,), (1 << 20,)], lambda s: (_floats(*s), _floats(*s)), _flat),
    Space("dropout", dropout, product(B=[128, 256, 512, 1024, 2048, 4096, 8192], num_warps=WARPS), [(1 << 26,), (1 << 21,)],
          lambda s: (_floats(*s), _floats(*s)), lambda t, s, c: ((*t, s[0], 123), (cdiv(s[0], c["B"]),))),
    Space("rotary", rotary, product(D=[128], BH=[1, 2, 4, 8, 16, 32], num_warps=[1, 2, 4, 8]), [(16384, 32, 128), (2048, 40, 128)],
          _rotary_tensors, lambda t, s, c: ((*t, *s[:2]), (s[0], cdiv(s[1], c["BH"])))),
    Space("gather_rows", gather_rows, product(BR=[1, 2, 4, 8, 16, 32], BC=[64, 128, 256, 512, 1024], num_warps=[1, 2, 4, 8]),
          [(65536, 50000, 1024), (8192, 200000, 2048)], _gather_tensors,
          lambda t, s, c: ((*t, s[2]), (cdiv(s[0], c["BR"]), s[2] // c["BC"]))),
    Space("bag_sum", bag_sum, product(K=[32], BC=[64, 128, 256, 512, 1024], num_warps=[1, 2, 4, 8], num_stages=[1, 2, 4]),
          [(8192, 100000, 1024), (512, 1000, 4096)], _bag_tensors, lambda t, s, c: ((*t, s[2]), (s[0], s[2] // c["BC"]))),
    Space("histogram", histogram, product(B=[128, 256, 512, 1024, 2048], STEPS=[1, 4, 16], num_warps=[1, 2, 4, 8]),
          [(1 << 24, 65536), (1 << 22, 256)], _histogram_tensors,
          lambda t, s, c: ((*t, s[0]), (cdiv(s[0], c["B"] * c["STEPS"]),))),
    Space("stencil", stencil, product(BH=[1, 2, 4, 8, 16, 32], BW=[32, 64, 128, 256, 512], num_warps=[1, 2, 4, 8]),
          [(8192, 8192), (2048, 2000)], lambda s: (_floats(*s), _floats(*s)),
          lambda t, s, c: ((*t, *s), (cdiv(s[1], c["BW"]), cdiv(s[0], c["BH"])))),
    Space("swap_middle", swap_middle, product(D=[64], BS=[1, 2, 4, 8, 16, 32], BH=[1, 2, 4, 8, 16], num_warps=[1, 2, 4, 8]),
          [(16384, 32, 64), (1024, 64, 64)], lambda s: (half(*s), half(*s)),
          lambda t, s, c: ((*t, *s[:2]), (s[0] // c["BS"], s[1] // c["BH"]))),
    Space("conv2d", conv2d, product(C=[128], F=[128], BP=[16, 32, 64, 128], BF=[32, 64, 128], BC=[32, 64, 128], num_warps=[4, 8], num_stages=[2, 3, 4]),
          [(256, 256, 128, 128), (56, 56, 128, 128)], _conv_tensors,
          lambda t, s, c: ((*t, *s[:2]), (s[0] * cdiv(s[1], c["BP"]), s[3] // c["BF"]))),
)  # fmt: skip
