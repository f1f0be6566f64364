"""Kernels that no fit has seen when they were measured: matrix products, attention, rows, gathers, streams."""

import torch
import triton
import triton.language as tl

from tools.calibration.tune.matmuls import half
from tools.calibration.tune.spaces import Space, cdiv, product


@triton.jit
def int8_matmul(a, b, scale_a, scale_b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Both operands are int8 with a scale per row and column; blocks are walked column by column."""
    tile = tl.program_id(0)
    rows = tl.cdiv(M, BM)
    rm = tile % rows * BM + tl.arange(0, BM)
    rn = tile // rows * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :])
        y = tl.load(b + rn[None, :] * K + rk[:, None])
        acc = tl.dot(x, y, acc, out_dtype=tl.int32)
    scaled = acc.to(tl.float32) * tl.load(scale_a + rm)[:, None] * tl.load(scale_b + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], scaled.to(tl.bfloat16))


@triton.jit
def adapted_matmul(
    x, w, down, up, c, M, N, K, R: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Multiplies x by w + down up: a layer with an adapter of low rank."""
    rm = tl.program_id(1) * BM + tl.arange(0, BM)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rr = tl.arange(0, R)
    acc = tl.zeros((BM, BN), tl.float32)
    low = tl.zeros((BM, R), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        t = tl.load(x + rm[:, None] * K + rk[None, :])
        acc = tl.dot(t, tl.load(w + rk[:, None] * N + rn[None, :]), acc)
        low = tl.dot(t, tl.load(down + rk[:, None] * R + rr[None, :]), low)
    acc = tl.dot(low.to(tl.float16), tl.load(up + rr[:, None] * N + rn[None, :]), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def gram(a, c, N, K, BM: tl.constexpr, BK: tl.constexpr):
    """The lower triangle of a times its transpose; the programs above the diagonal end at once."""
    row, column = tl.program_id(0), tl.program_id(1)
    if column <= row:
        rm = row * BM + tl.arange(0, BM)
        rn = column * BM + tl.arange(0, BM)
        acc = tl.zeros((BM, BM), tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            x = tl.load(a + rm[:, None] * K + rk[None, :])
            y = tl.load(a + rn[None, :] * K + rk[:, None])
            acc = tl.dot(x, y, acc)
        tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


@triton.jit
def paged_decode(
    q, k, v, table, o, LENGTH, H: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, PARTS: tl.constexpr
):
    """A part of a sequence's keys for all H heads of a group; pages are found by a table."""
    sequence, part = tl.program_id(0), tl.program_id(1)
    d, h = tl.arange(0, D), tl.arange(0, H)
    query = tl.load(q + (sequence * H + h[:, None]) * D + d[None, :])
    top = tl.full((H,), float("-inf"), tl.float32)
    total = tl.zeros((H,), tl.float32)
    acc = tl.zeros((H, D), tl.float32)
    pages = LENGTH // PAGE
    for at in range(part * pages // PARTS, (part + 1) * pages // PARTS):
        page = tl.load(table + sequence * pages + at).to(tl.int64)
        n = page * PAGE + tl.arange(0, PAGE)
        scores = tl.dot(query, tl.load(k + n[None, :] * D + d[:, None])) * 0.1275
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        kept = tl.exp2(top - new)
        total = total * kept + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), tl.load(v + n[:, None] * D + d[None, :]), acc * kept[:, None])
        top = new
    out = o + ((sequence * PARTS + part) * H + h[:, None]) * D + d[None, :]
    tl.store(out, acc / total[:, None])


@triton.jit
def window_attention(q, k, v, o, L, WINDOW, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Each row attends to the WINDOW rows before it."""
    start = tl.program_id(0) * BM
    base = tl.program_id(1).to(tl.int64) * L * D
    rm, d = start + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + base + rm[:, None] * D + d[None, :])
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(max(0, start - WINDOW) // BN * BN, start + BM, BN):
        rn = n + tl.arange(0, BN)
        scores = tl.dot(query, tl.load(k + base + rn[None, :] * D + d[:, None])) * 0.1803
        apart = rm[:, None] - rn[None, :]
        scores = tl.where((apart >= 0) & (apart < WINDOW), scores, -1e30)
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        kept = tl.exp2(top - new)
        total = total * kept + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + base + rn[:, None] * D + d[None, :]), acc * kept[:, None])
        top = new
    tl.store(o + base + rm[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def group_norm(x, w, b, y, P, C, G: tl.constexpr, BP: tl.constexpr, BG: tl.constexpr):
    """Normalizes groups of channels over all P pixels of an image: channels are last, the data is read twice."""
    image, group = tl.program_id(0).to(tl.int64), tl.program_id(1)
    c = group * G + tl.arange(0, BG)
    inside_c = tl.arange(0, BG) < G
    first, second = tl.zeros((BP, BG), tl.float32), tl.zeros((BP, BG), tl.float32)
    for p in range(0, P, BP):
        rp = p + tl.arange(0, BP)
        mask = (rp < P)[:, None] & inside_c[None, :]
        t = tl.load(x + (image * P + rp[:, None]) * C + c[None, :], mask=mask, other=0.0).to(tl.float32)
        first += t
        second += t * t
    mean = tl.sum(first) / (P * G)
    scale = tl.rsqrt(tl.sum(second) / (P * G) - mean * mean + 1e-5)
    weight, bias = tl.load(w + c, mask=inside_c), tl.load(b + c, mask=inside_c)
    for p in range(0, P, BP):
        rp = p + tl.arange(0, BP)
        mask = (rp < P)[:, None] & inside_c[None, :]
        at = (image * P + rp[:, None]) * C + c[None, :]
        t = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(y + at, ((t - mean) * scale * weight[None, :] + bias[None, :]).to(tl.float16), mask=mask)


@triton.jit
def _combine(decay_a, value_a, decay_b, value_b):
    return decay_a * decay_b, value_a * decay_b + value_b


@triton.jit
def linear_scan(x, decay, y, L, C, BL: tl.constexpr, BC: tl.constexpr):
    """y[l] = decay[l] y[l - 1] + x[l] along L, for BC channels at once."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    base = tl.program_id(1).to(tl.int64) * L * C
    last = tl.zeros((BC,), tl.float32)
    for start in range(0, L, BL):
        at = base + (start + tl.arange(0, BL))[:, None] * C + c[None, :]
        kept = tl.load(decay + at).to(tl.float32)
        values = tl.load(x + at).to(tl.float32)
        product_of, scanned = tl.associative_scan((kept, values), 0, _combine)
        out = scanned + product_of * last[None, :]
        tl.store(y + at, out.to(tl.float16))
        is_last = (tl.arange(0, BL) == BL - 1)[:, None]
        last = tl.sum(tl.where(is_last, out, 0.0), 0)


@triton.jit
def route(scores, weights, chosen, T, E: tl.constexpr, TOP: tl.constexpr, BT: tl.constexpr):
    """The TOP largest of E probabilities for each of BT tokens."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    e = tl.arange(0, E)
    inside = (t < T)[:, None]
    x = tl.load(scores + t[:, None] * E + e[None, :], mask=inside, other=0.0).to(tl.float32)
    p = tl.exp(x - tl.max(x, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    for at in tl.static_range(TOP):
        best = tl.max(p, 1)
        place = tl.argmax(p, 1)
        tl.store(weights + t * TOP + at, best, mask=t < T)
        tl.store(chosen + t * TOP + at, place, mask=t < T)
        p = tl.where(e[None, :] == place[:, None], 0.0, p)


@triton.jit
def scatter_add(rows, index, table, C, BR: tl.constexpr, BC: tl.constexpr):
    """Adds rows to rows of a table: the backward pass of an embedding."""
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    target = tl.load(index + r)
    value = tl.load(rows + r[:, None] * C + c[None, :])
    tl.atomic_add(table + target[:, None] * C + c[None, :], value, sem="relaxed")


@triton.jit
def heat(x, y, Z, Y, X, BY: tl.constexpr, BX: tl.constexpr, STEPS: tl.constexpr):
    """Seven points of a grid of three dimensions; a program walks STEPS planes."""
    rx = tl.program_id(0) * BX + tl.arange(0, BX)
    ry = tl.program_id(1) * BY + tl.arange(0, BY)
    plane = Y * X
    at = ry[:, None] * X + rx[None, :]
    inside = (ry > 0)[:, None] & (ry < Y - 1)[:, None] & (rx > 0)[None, :] & (rx < X - 1)[None, :]
    for step in range(STEPS):
        z = tl.program_id(2) * STEPS + step
        here = x + z.to(tl.int64) * plane + at
        mask = inside & (z > 0) & (z < Z - 1)
        total = tl.load(here - 1, mask=mask) + tl.load(here + 1, mask=mask)
        total += tl.load(here - X, mask=mask) + tl.load(here + X, mask=mask)
        total += tl.load(here - plane, mask=mask) + tl.load(here + plane, mask=mask)
        middle = tl.load(here, mask=mask)
        tl.store(y + z.to(tl.int64) * plane + at, middle + 0.1 * (total - 6 * middle), mask=mask)


@triton.jit
def depthwise(x, w, y, H, W, C, BW: tl.constexpr, BC: tl.constexpr):
    """A convolution of 3 x 3 for each channel by itself, channels last."""
    row, column = tl.program_id(2), tl.program_id(1) * BW
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    acc = tl.zeros((BW, BC), tl.float32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            sy, sx = row + dy - 1, column + dx - 1 + tl.arange(0, BW)
            mask = (sy >= 0) & (sy < H) & (sx >= 0)[:, None] & (sx < W)[:, None]
            t = tl.load(x + (sy * W + sx[:, None]) * C + c[None, :], mask=mask, other=0.0)
            acc += t.to(tl.float32) * tl.load(w + (dy * 3 + dx) * C + c)[None, :].to(tl.float32)
    out = column + tl.arange(0, BW)
    tl.store(y + (row * W + out[:, None]) * C + c[None, :], acc.to(tl.float16), mask=(out < W)[:, None])


@triton.jit
def adam(p, g, m, v, N, rate, B: tl.constexpr):
    """A step of an optimizer: reads four tensors and writes three."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < N
    gradient = tl.load(g + i, mask=inside).to(tl.float32)
    first = 0.9 * tl.load(m + i, mask=inside) + 0.1 * gradient
    second = 0.99 * tl.load(v + i, mask=inside) + 0.01 * gradient * gradient
    weight = tl.load(p + i, mask=inside)
    tl.store(m + i, first, mask=inside)
    tl.store(v + i, second, mask=inside)
    tl.store(p + i, weight - rate * first / (tl.sqrt(second) + 1e-8), mask=inside)


def _tensors(*make):
    """Allocates tensors from functions of the shape."""
    return lambda shape: [one(*shape) for one in make]


def _floats(*shape):
    return torch.rand(*shape, device="cuda")


def _bytes(*shape):
    return torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8)


def _brain(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def _rows_of(high, count, dtype=torch.int64):
    return torch.randint(0, high, (count,), device="cuda", dtype=dtype)


def _pages(s, length, d, page):
    """As many pages as all sequences need, and which of them each sequence has, in a random order."""
    return torch.randperm(s * length // page, device="cuda").to(torch.int32)


_HEADS, _RANK, _GROUP, _TOP = 16, 32, 32, 4
SPACES = (
    Space("int8_matmul", int8_matmul, product(48, BM=[64, 128], BN=[64, 128, 256], BK=[64, 128], num_warps=[4, 8], num_stages=[2, 3, 4]),
          [(2048, 4096, 4096), (512, 2048, 8192)],
          _tensors(lambda m, n, k: _bytes(m, k), lambda m, n, k: _bytes(n, k), lambda m, n, k: _floats(m),
                   lambda m, n, k: _floats(n), lambda m, n, k: _brain(m, n)),
          lambda t, s, c: ((*t, *s), (cdiv(s[0], c["BM"]) * cdiv(s[1], c["BN"]),))),
    Space("adapted_matmul", adapted_matmul, product(40, R=[_RANK], BM=[32, 64, 128], BN=[64, 128, 256], BK=[32, 64], num_warps=[4, 8], num_stages=[2, 3, 4]),
          [(2048, 4096, 2048), (256, 4096, 4096)],
          _tensors(lambda m, n, k: half(m, k), lambda m, n, k: half(k, n), lambda m, n, k: half(k, _RANK),
                   lambda m, n, k: half(_RANK, n), lambda m, n, k: half(m, n)),
          lambda t, s, c: ((*t, *s), (cdiv(s[1], c["BN"]), cdiv(s[0], c["BM"])))),
    Space("gram", gram, product(32, BM=[32, 64, 128], BK=[32, 64, 128], num_warps=[4, 8], num_stages=[2, 3, 4]),
          [(4096, 2048), (1024, 8192)], _tensors(_brain, lambda n, k: _brain(n, n)),
          lambda t, s, c: ((*t, *s), (s[0] // c["BM"], s[0] // c["BM"]))),
    Space("paged_decode", paged_decode, product(36, H=[_HEADS], D=[128], PAGE=[32], PARTS=[1, 2, 4, 8, 16], num_warps=[1, 2, 4, 8], num_stages=[1, 2, 3]),
          [(64, 8192, 128), (8, 32768, 128)],
          _tensors(lambda s, n, d: _brain(s, _HEADS, d), lambda s, n, d: _brain(s * n, d), lambda s, n, d: _brain(s * n, d),
                   lambda s, n, d: _pages(s, n, d, 32), lambda s, n, d: _floats(s, 16, _HEADS, d)),
          lambda t, s, c: ((*t, s[1]), (s[0], c["PARTS"]))),
    Space("window_attention", window_attention, product(36, D=[64], BM=[32, 64, 128], BN=[32, 64, 128], num_warps=[4, 8], num_stages=[2, 3]),
          [(16, 8192, 64), (32, 1024, 64)], _tensors(half, half, half, half),
          lambda t, s, c: ((*t, s[1], 512), (s[1] // c["BM"], s[0]))),
    Space("group_norm", group_norm, product(36, G=[_GROUP], BP=[8, 16, 32, 64, 128, 256], BG=[_GROUP], num_warps=[2, 4, 8, 16], num_stages=[1, 3]),
          [(32, 4096, 512), (16, 784, 1024)],
          _tensors(half, lambda n, p, c: half(c), lambda n, p, c: half(c), half),
          lambda t, s, c: ((*t, *s[1:]), (s[0], s[2] // _GROUP))),
    Space("linear_scan", linear_scan, product(40, BL=[16, 32, 64, 128], BC=[8, 16, 32, 64], num_warps=[1, 2, 4, 8]),
          [(8, 2048, 4096), (2, 8192, 2048)], _tensors(half, half, half),
          lambda t, s, c: ((*t, *s[1:]), (s[2] // c["BC"], s[0]))),
    Space("route", route, product(24, E=[128], TOP=[_TOP], BT=[1, 2, 4, 8, 16, 32], num_warps=[1, 2, 4, 8]),
          [(131072, 128), (8000, 128)],
          _tensors(half, lambda t, e: _floats(t, _TOP), lambda t, e: _rows_of(1, t * _TOP, torch.int32)),
          lambda t, s, c: ((*t, s[0]), (cdiv(s[0], c["BT"]),))),
    Space("scatter_add", scatter_add, product(36, BR=[1, 4, 8, 16], BC=[64, 128, 256, 512], num_warps=[1, 2, 4, 8]),
          [(32768, 50000, 1024), (65536, 500, 512)],
          _tensors(lambda r, n, c: _floats(r, c), lambda r, n, c: _rows_of(n, r), lambda r, n, c: _floats(n, c)),
          lambda t, s, c: ((*t, s[2]), (cdiv(s[0], c["BR"]), s[2] // c["BC"]))),
    Space("heat", heat, product(40, BY=[1, 4, 8, 16], BX=[32, 64, 128, 256], STEPS=[1, 4], num_warps=[1, 2, 4, 8]),
          [(256, 512, 512), (64, 256, 256)], _tensors(_floats, _floats),
          lambda t, s, c: ((*t, *s), (cdiv(s[2], c["BX"]), cdiv(s[1], c["BY"]), cdiv(s[0], c["STEPS"])))),
    Space("depthwise", depthwise, product(40, BW=[1, 4, 8, 16, 32], BC=[32, 64, 128, 256], num_warps=[1, 2, 4, 8]),
          [(448, 448, 256), (112, 112, 512)], _tensors(half, lambda h, w, c: half(9, c), half),
          lambda t, s, c: ((*t, *s), (s[2] // c["BC"], cdiv(s[1], c["BW"]), s[0]))),
    Space("adam", adam, product(30, B=[128, 256, 512, 1024, 2048, 4096, 8192], num_warps=[1, 2, 4, 8, 16]),
          [(1 << 26,), (3 << 19,)],
          _tensors(_floats, half, _floats, _floats),
          lambda t, s, c: ((*t, s[0], 1e-3), (cdiv(s[0], c["B"]),))),
)  # fmt: skip
