"""Kernels of a second test: scaled and packed matrix products, gradients, attention, rows, pooling, bins."""

import torch
import triton
import triton.language as tl

from tools.calibration.tune.matmuls import half
from tools.calibration.tune.spaces import Space, cdiv, product


@triton.jit
def block_scaled(a, b, scale_a, scale_b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """FP8 operands with a scale per row and 128 columns of a, and per 128 x 128 block of b."""
    rm = tl.program_id(1) * BM + tl.arange(0, BM)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    blocks = K // 128
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :])
        y = tl.load(b + rn[None, :] * K + rk[:, None])
        left = tl.load(scale_a + rm * blocks + k // 128)
        right = tl.load(scale_b + rn // 128 * blocks + k // 128)
        acc += tl.dot(x, y) * left[:, None] * right[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


@triton.jit
def weight_gradient(
    x, dy, dw, T, INS, OUTS, BI: tl.constexpr, BO: tl.constexpr, BT: tl.constexpr, PARTS: tl.constexpr
):
    """Adds the products of parts of the tokens: the transpose of x times dy; atomics in the default order."""
    ri = tl.program_id(0) * BI + tl.arange(0, BI)
    ro = tl.program_id(1) * BO + tl.arange(0, BO)
    own = T // PARTS
    acc = tl.zeros((BI, BO), tl.float32)
    for t in range(tl.program_id(2) * own, (tl.program_id(2) + 1) * own, BT):
        rt = t + tl.arange(0, BT)
        left = tl.load(x + rt[None, :] * INS + ri[:, None])
        acc = tl.dot(left, tl.load(dy + rt[:, None] * OUTS + ro[None, :]), acc)
    at = dw + ri[:, None] * OUTS + ro[None, :]
    if PARTS == 1:
        tl.store(at, acc)
    else:
        tl.atomic_add(at, acc)


@triton.jit
def packed_weights(x, w, scale, zero, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two 4-bit weights per byte along N, with a scale and a zero per 64 rows."""
    rm = tl.program_id(1) * BM + tl.arange(0, BM)
    half_n = tl.program_id(0) * (BN // 2) + tl.arange(0, BN // 2)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        t = tl.load(x + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None], other=0.0)
        packed = tl.load(w + rk[:, None] * (N // 2) + half_n[None, :])
        both = tl.interleave(packed & 15, packed >> 4)
        s = tl.load(scale + k // 64 * N + rn)
        z = tl.load(zero + k // 64 * N + rn)
        acc = tl.dot(t, (both.to(tl.float16) - z[None, :]) * s[None, :], acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=(rm < M)[:, None])


@triton.jit
def nearest_code(x, codes, squares, best, C, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The nearest of C codes for each row: products, then a minimum that is carried along."""
    rm, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    rows = tl.load(x + rm[:, None] * D + d[None, :])
    least = tl.full((BM,), 1e30, tl.float32)
    place = tl.zeros((BM,), tl.int32)
    for n in range(0, C, BN):
        rn = n + tl.arange(0, BN)
        code = tl.load(codes + rn[None, :] * D + d[:, None])
        distance = tl.load(squares + rn)[None, :] - 2.0 * tl.dot(rows, code)
        own, at = tl.min(distance, 1), tl.argmin(distance, 1)
        place = tl.where(own < least, n + at, place)
        least = tl.minimum(own, least)
    tl.store(best + rm, place)


@triton.jit
def attention_dkdv(
    q, k, v, do, lse, delta, dk, dv, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """The gradients of keys and values: a program has BN keys and walks the queries after them."""
    start = tl.program_id(0) * BN
    head = tl.program_id(1)
    base = head.to(tl.int64) * T * D
    rn, d = start + tl.arange(0, BN), tl.arange(0, D)
    key = tl.load(k + base + rn[:, None] * D + d[None, :])
    value = tl.load(v + base + rn[:, None] * D + d[None, :])
    acc_k = tl.zeros((BN, D), tl.float32)
    acc_v = tl.zeros((BN, D), tl.float32)
    for m in range(start // BM * BM, T, BM):
        rm = m + tl.arange(0, BM)
        query = tl.load(q + base + rm[:, None] * D + d[None, :])
        out = tl.load(do + base + rm[:, None] * D + d[None, :])
        scores = tl.dot(key, tl.trans(query)) * (scale * 1.44269504)
        p = tl.exp2(scores - tl.load(lse + head * T + rm)[None, :])
        p = tl.where(rm[None, :] >= rn[:, None], p, 0.0)
        acc_v = tl.dot(p.to(tl.float16), out, acc_v)
        dp = tl.dot(value, tl.trans(out))
        ds = p * (dp - tl.load(delta + head * T + rm)[None, :])
        acc_k = tl.dot(ds.to(tl.float16), query, acc_k)
    tl.store(dk + base + rn[:, None] * D + d[None, :], (acc_k * scale).to(tl.float16))
    tl.store(dv + base + rn[:, None] * D + d[None, :], acc_v.to(tl.float16))


@triton.jit
def vector_decode(q, k, v, o, lse, LENGTH, H, D: tl.constexpr, BN: tl.constexpr, PARTS: tl.constexpr):
    """One query of one head against its own keys, without tensor cores; keys are [LENGTH, H, D]."""
    head, part = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    top, total = float("-inf"), 0.0
    acc = tl.zeros((D,), tl.float32)
    own = LENGTH // PARTS
    for n in range(part * own, (part + 1) * own, BN):
        rn = n + tl.arange(0, BN)
        at = (rn[:, None] * H + head) * D + d[None, :]
        scores = tl.sum(tl.load(k + at).to(tl.float32) * query[None, :], 1) * 0.1275
        new = tl.maximum(top, tl.max(scores, 0))
        p = tl.exp2(scores - new)
        kept = tl.exp2(top - new)
        total = total * kept + tl.sum(p, 0)
        acc = acc * kept + tl.sum(p[:, None] * tl.load(v + at).to(tl.float32), 0)
        top = new
    tl.store(o + (head * PARTS + part) * D + d, acc / total)
    tl.store(lse + head * PARTS + part, top + tl.log2(total))


@triton.jit
def combine_experts(x, place, weight, y, C, TOP: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
    """A token's sum of TOP rows of what experts computed, with weights."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    total = tl.zeros((BT, BC), tl.float32)
    for at in tl.static_range(TOP):
        row = tl.load(place + t * TOP + at)
        part = tl.load(weight + t * TOP + at)
        total += tl.load(x + row[:, None] * C + c[None, :]).to(tl.float32) * part[:, None]
    tl.store(y + t[:, None] * C + c[None, :], total.to(tl.bfloat16))


@triton.jit
def residual_norm(x, residual, w, y, C, eps, B: tl.constexpr):
    """Adds a residual in place, then divides the row by its root mean square; the row is read twice."""
    base = tl.program_id(0).to(tl.int64) * C
    squares = tl.zeros((B,), tl.float32)
    for start in range(0, C, B):
        i = start + tl.arange(0, B)
        inside = i < C
        t = tl.load(x + base + i, mask=inside, other=0.0) + tl.load(
            residual + base + i, mask=inside, other=0.0
        )
        tl.store(residual + base + i, t, mask=inside)
        squares += t.to(tl.float32) * t.to(tl.float32)
    rate = tl.rsqrt(tl.sum(squares, 0) / C + eps)
    for start in range(0, C, B):
        i = start + tl.arange(0, B)
        inside = i < C
        t = tl.load(residual + base + i, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(w + i, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + base + i, (t * rate * weight).to(tl.bfloat16), mask=inside)


@triton.jit
def max_pool(x, y, H, W, BH: tl.constexpr, BW: tl.constexpr):
    """The largest of 3 x 3, every second place: images are [N, H, W] of their own."""
    rh = tl.program_id(1) * BH + tl.arange(0, BH)
    rw = tl.program_id(0) * BW + tl.arange(0, BW)
    base = tl.program_id(2).to(tl.int64) * H * W
    best = tl.full((BH, BW), float("-inf"), tl.float32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            h, w = 2 * rh + dy - 1, 2 * rw + dx - 1
            inside = (h >= 0)[:, None] & (h < H)[:, None] & (w >= 0)[None, :] & (w < W)[None, :]
            t = tl.load(x + base + h[:, None] * W + w[None, :], mask=inside, other=float("-inf"))
            best = tl.maximum(best, t.to(tl.float32))
    out = y + tl.program_id(2).to(tl.int64) * (H // 2) * (W // 2) + rh[:, None] * (W // 2) + rw[None, :]
    tl.store(out, best.to(tl.float16), mask=(rh < H // 2)[:, None] & (rw < W // 2)[None, :])


@triton.jit
def count_bins(x, bins, n, BINS: tl.constexpr, B: tl.constexpr, STEPS: tl.constexpr):
    """A histogram of few bins: each program counts by itself and adds its counts once."""
    counts = tl.zeros((BINS,), tl.int32)
    for step in range(STEPS):
        i = (tl.program_id(0) * STEPS + step) * B + tl.arange(0, B)
        counts += tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS)
    tl.atomic_add(bins + tl.arange(0, BINS), counts)


@triton.jit
def divergence(p, q, losses, V, B: tl.constexpr):
    """The divergence of two rows of logits, in one pass over both."""
    base = tl.program_id(0).to(tl.int64) * V
    top_p = tl.full((B,), -1e30, tl.float32)
    top_q = tl.full((B,), -1e30, tl.float32)
    sum_p, sum_q, mixed = tl.zeros((B,), tl.float32), tl.zeros((B,), tl.float32), tl.zeros((B,), tl.float32)
    for start in range(0, V, B):
        i = start + tl.arange(0, B)
        inside = i < V
        a = tl.load(p + base + i, mask=inside, other=-1e30).to(tl.float32)
        b = tl.load(q + base + i, mask=inside, other=-1e30).to(tl.float32)
        new_p, new_q = tl.maximum(top_p, a), tl.maximum(top_q, b)
        kept, e = tl.exp(top_p - new_p), tl.exp(a - new_p)
        sum_p = sum_p * kept + e
        mixed = mixed * kept + tl.where(inside, e * (a - b), 0.0)
        sum_q = sum_q * tl.exp(top_q - new_q) + tl.exp(b - new_q)
        top_p, top_q = new_p, new_q
    high_p, high_q = tl.max(top_p, 0), tl.max(top_q, 0)
    scale = tl.exp(top_p - high_p)
    total_p = tl.sum(sum_p * scale, 0)
    total_q = tl.sum(sum_q * tl.exp(top_q - high_q), 0)
    loss = tl.sum(mixed * scale, 0) / total_p - (high_p + tl.log(total_p)) + (high_q + tl.log(total_q))
    tl.store(losses + tl.program_id(0), loss)


def _tensors(*make):
    """Allocates tensors from functions of the shape."""
    return lambda shape: [one(*shape) for one in make]


def _floats(*shape):
    return torch.rand(*shape, device="cuda")


def _brain(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def _eighths(*shape):
    return torch.randn(*shape, device="cuda").to(torch.float8_e4m3fn)


def _integers(high, *shape, dtype=torch.int32):
    return torch.randint(0, high, shape, device="cuda", dtype=dtype)


_PARTS, _TOP, _BINS = 32, 4, 256
SPACES = (
    Space("block_scaled", block_scaled, product(40, seed=1, BM=[32, 64, 128], BN=[64, 128, 256], BK=[64, 128], num_warps=[4, 8], num_stages=[2, 3, 4]),
          [(4096, 2048, 4096), (128, 7168, 2048)],
          _tensors(lambda m, n, k: _eighths(m, k), lambda m, n, k: _eighths(n, k), lambda m, n, k: _floats(m, k // 128),
                   lambda m, n, k: _floats(n // 128, k // 128), lambda m, n, k: _brain(m, n)),
          lambda t, s, c: ((*t, *s), (cdiv(s[1], c["BN"]), cdiv(s[0], c["BM"])))),
    Space("weight_gradient", weight_gradient, product(40, seed=2, BI=[32, 64, 128], BO=[64, 128], BT=[32, 64], PARTS=[1, 2, 4, 8, 16], num_warps=[4, 8], num_stages=[2, 3]),
          [(8192, 512, 1024), (16384, 256, 256)],
          _tensors(lambda t, i, o: half(t, i), lambda t, i, o: half(t, o), lambda t, i, o: _floats(i, o)),
          lambda t, s, c: ((*t, *s), (s[1] // c["BI"], s[2] // c["BO"], c["PARTS"]))),
    Space("packed_weights", packed_weights, product(36, seed=3, BM=[16, 32, 64], BN=[64, 128, 256], BK=[32, 64], num_warps=[4, 8], num_stages=[2, 3, 4]),
          [(16, 4096, 4096), (512, 4096, 4096)],
          _tensors(lambda m, n, k: half(m, k), lambda m, n, k: _integers(256, k, n // 2, dtype=torch.uint8),
                   lambda m, n, k: half(k // 64, n), lambda m, n, k: half(k // 64, n), lambda m, n, k: half(m, n)),
          lambda t, s, c: ((*t, *s), (cdiv(s[1], c["BN"]), cdiv(s[0], c["BM"])))),
    Space("nearest_code", nearest_code, product(30, seed=4, D=[64], BM=[16, 32, 64, 128], BN=[32, 64, 128, 256], num_warps=[2, 4, 8], num_stages=[2, 3]),
          [(65536, 1024, 64), (4096, 8192, 64)],
          _tensors(lambda m, n, d: half(m, d), lambda m, n, d: half(n, d), lambda m, n, d: _floats(n), lambda m, n, d: _integers(1, m)),
          lambda t, s, c: ((*t, s[1]), (s[0] // c["BM"],))),
    Space("attention_dkdv", attention_dkdv, product(24, seed=5, D=[64], BM=[32, 64, 128], BN=[32, 64, 128], num_warps=[4, 8], num_stages=[1, 2, 3]),
          [(32, 2048, 64), (64, 512, 64)],
          _tensors(half, half, half, half, lambda h, t, d: _floats(h, t), lambda h, t, d: _floats(h, t), half, half),
          lambda t, s, c: ((*t, 0.125, s[1]), (s[1] // c["BN"], s[0]))),
    Space("vector_decode", vector_decode, product(36, seed=6, D=[128], BN=[8, 16, 32, 64], PARTS=[4, 8, 16, 32], num_warps=[1, 2, 4, 8], num_stages=[1, 3]),
          [(32, 16384, 128), (128, 4096, 128)],
          _tensors(lambda h, n, d: half(h, d), lambda h, n, d: half(n, h, d), lambda h, n, d: half(n, h, d),
                   lambda h, n, d: _floats(h, _PARTS, d), lambda h, n, d: _floats(h, _PARTS)),
          lambda t, s, c: ((*t, s[1], s[0]), (s[0], c["PARTS"]))),
    Space("combine_experts", combine_experts, product(30, seed=7, TOP=[_TOP], BT=[1, 2, 4, 8], BC=[128, 256, 512, 1024, 2048], num_warps=[1, 2, 4, 8]),
          [(16384, 2048), (2048, 4096)],
          _tensors(lambda t, c: _brain(t * _TOP, c), lambda t, c: torch.randperm(t * _TOP, device="cuda").to(torch.int32),
                   lambda t, c: _floats(t, _TOP), _brain),
          lambda t, s, c: ((*t, s[1]), (s[0] // c["BT"], s[1] // c["BC"]))),
    Space("residual_norm", residual_norm, product(B=[256, 512, 1024, 2048, 4096], num_warps=[1, 2, 4, 8, 16]) + product(B=[8192], num_warps=[4, 8, 16]),
          [(16384, 8192), (2048, 5120)], _tensors(_brain, _brain, lambda r, c: _brain(c), _brain),
          lambda t, s, c: ((*t, s[1], 1e-5), (s[0],))),
    Space("max_pool", max_pool, product(36, seed=9, BH=[1, 2, 4, 8, 16], BW=[32, 64, 128], num_warps=[1, 2, 4, 8]),
          [(512, 224, 224), (64, 112, 112)], _tensors(half, lambda n, h, w: half(n, h // 2, w // 2)),
          lambda t, s, c: ((*t, *s[1:]), (cdiv(s[2] // 2, c["BW"]), cdiv(s[1] // 2, c["BH"]), s[0]))),
    Space("count_bins", count_bins, product(30, seed=10, BINS=[_BINS], B=[256, 512, 1024, 2048, 4096], STEPS=[1, 4, 16], num_warps=[1, 2, 4, 8]),
          [(1 << 25,), (1 << 21,)], _tensors(lambda n: _integers(_BINS, n), lambda n: _integers(1, _BINS)),
          lambda t, s, c: ((*t, s[0]), (cdiv(s[0], c["B"] * c["STEPS"]),))),
    Space("divergence", divergence, product(30, seed=11, B=[256, 512, 1024, 2048, 4096, 8192], num_warps=[1, 2, 4, 8, 16]),
          [(4096, 32000), (512, 128256)], _tensors(half, half, lambda r, v: _floats(r)),
          lambda t, s, c: ((*t, s[1]), (s[0],))),
)  # fmt: skip
