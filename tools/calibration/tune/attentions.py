"""Attention and linear recurrences: forward, backward, decoding, chunks, a selective scan."""

import torch
import triton
import triton.language as tl

from tools.calibration.tune.matmuls import half
from tools.calibration.tune.spaces import Space, cdiv, product


@triton.jit
def attention(q, k, v, o, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * T * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn, rd = tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + base + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, T, BN):
        y = tl.load(k + base + (n + rn)[None, :] * D + rd[:, None])
        s = tl.dot(x, y) * scale
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + base + (n + rn)[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), z, acc * shrink[:, None])
        top = new
    tl.store(o + base + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def attention_dq(q, k, v, do, lse, delta, dq, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    base = head * T * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn, rd = tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + base + rm[:, None] * D + rd[None, :])
    g = tl.load(do + base + rm[:, None] * D + rd[None, :])
    row = tl.load(lse + head * T + rm)
    d = tl.load(delta + head * T + rm)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, T, BN):
        y = tl.load(k + base + (n + rn)[:, None] * D + rd[None, :])
        z = tl.load(v + base + (n + rn)[:, None] * D + rd[None, :])
        p = tl.exp2(tl.dot(x, y.T) * scale - row[:, None])
        ds = p * (tl.dot(g, z.T) - d[:, None])
        acc = tl.dot(ds.to(tl.float16), y, acc)
    tl.store(dq + base + rm[:, None] * D + rd[None, :], (acc * scale).to(tl.float16))


@triton.jit
def decode(
    q, k, v, o, lse, scale, T, D: tl.constexpr, G: tl.constexpr, BN: tl.constexpr, SPLIT: tl.constexpr
):
    """One query per sequence: G query heads share a head of keys; SPLIT programs share its keys."""
    head, part = tl.program_id(0), tl.program_id(1)
    rg, rn, rd = tl.arange(0, G), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + (head * G + rg)[:, None] * D + rd[None, :])
    base = head.to(tl.int64) * T * D
    top = tl.full((G,), float("-inf"), tl.float32)
    total = tl.zeros((G,), tl.float32)
    acc = tl.zeros((G, D), tl.float32)
    length = tl.cdiv(T, SPLIT)
    for n in range(part * length, min((part + 1) * length, T), BN):
        inside = n + rn < T
        y = tl.load(k + base + (n + rn)[None, :] * D + rd[:, None], mask=inside[None, :], other=0.0)
        s = tl.where(inside[None, :], tl.dot(x, y) * scale, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + base + (n + rn)[:, None] * D + rd[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), z, acc * shrink[:, None])
        top = new
    row = (head * SPLIT + part) * G + rg
    tl.store(o + row[:, None] * D + rd[None, :], acc / total[:, None])
    tl.store(lse + row, top + tl.log2(total))


@triton.jit
def chunked_state(q, k, v, o, T, D: tl.constexpr, BV: tl.constexpr, CHUNK: tl.constexpr):
    """Linear attention: the state of a head goes from chunk to chunk."""
    base = tl.program_id(1).to(tl.int64) * T * D
    rc, rd = tl.arange(0, CHUNK), tl.arange(0, D)
    rv = tl.program_id(0) * BV + tl.arange(0, BV)
    state = tl.zeros((D, BV), tl.float32)
    for t in range(0, T, CHUNK):
        rows = base + (t + rc)[:, None] * D
        x = tl.load(q + rows + rd[None, :])
        y = tl.load(k + rows + rd[None, :])
        z = tl.load(v + rows + rv[None, :])
        s = tl.where(rc[:, None] >= rc[None, :], tl.dot(x, y.T), 0.0)
        out = tl.dot(s.to(tl.float16), z) + tl.dot(x, state.to(tl.float16))
        state += tl.dot(y.T, z)
        tl.store(o + rows + rv[None, :], out.to(tl.float16))


@triton.jit
def selective_scan(x, dt, a, b, c, y, T, C, N: tl.constexpr, BC: tl.constexpr):
    """Mamba's recurrence: N states per channel, a step per token."""
    rc = tl.program_id(0) * BC + tl.arange(0, BC)
    rn = tl.arange(0, N)
    batch = tl.program_id(1)
    decay = tl.load(a + rc[:, None] * N + rn[None, :])
    state = tl.zeros((BC, N), tl.float32)
    for t in range(T):
        at = (batch * T + t).to(tl.int64)
        step = tl.load(dt + at * C + rc).to(tl.float32)
        value = tl.load(x + at * C + rc).to(tl.float32)
        write = tl.load(b + at * N + rn).to(tl.float32)
        read = tl.load(c + at * N + rn).to(tl.float32)
        state = tl.exp(step[:, None] * decay) * state + (step * value)[:, None] * write[None, :]
        tl.store(y + at * C + rc, tl.sum(state * read[None, :], 1).to(tl.float16))


def _heads(shape):
    return tuple(half(*shape) for _ in range(4))


def _dq_tensors(shape):
    rows = (torch.randn(shape[:2], device="cuda") for _ in range(2))
    return (*_heads(shape), *rows, half(*shape))


def _decode_tensors(shape):
    heads, t, d = shape
    return half(heads * 16, d), half(heads, t, d), half(heads, t, d)


def _decode_launch(tensors, shape, config):
    heads, t, d = shape
    rows = heads * config["SPLIT"] * 16
    results = torch.empty(rows, d, device="cuda"), torch.empty(rows, device="cuda")
    return (*tensors, *results, 0.1, t), (heads, config["SPLIT"])


def _scan_tensors(shape):
    batch, t, c, n = shape
    decay = -torch.rand(c, n, device="cuda")
    return (
        half(batch, t, c),
        half(batch, t, c),
        decay,
        half(batch, t, n),
        half(batch, t, n),
        half(batch, t, c),
    )


SPACES = (
    *(Space(f"attention_{d}", attention, product(D=[d], BM=[32, 64, 128], BN=[32, 64, 128], num_warps=[4, 8], num_stages=[2, 3, 4]),
            [(32, 2048, d), (8, 1024, d)], _heads, lambda t, s, c: ((*t, 0.1, s[1]), (s[1] // c["BM"], s[0])))
      for d in (64, 128)),
    Space("attention_dq", attention_dq, product(D=[64], BM=[32, 64, 128], BN=[32, 64, 128], num_warps=[4, 8], num_stages=[1, 2, 3]),
          [(32, 2048, 64), (8, 1024, 64)], _dq_tensors, lambda t, s, c: ((*t, 0.1, s[1]), (s[1] // c["BM"], s[0]))),
    Space("decode", decode, product(D=[128], G=[16], BN=[16, 32, 64, 128], SPLIT=[1, 4, 8, 16, 32], num_warps=[2, 4, 8], num_stages=[2, 3]),
          [(64, 8192, 128), (8, 16384, 128)], _decode_tensors, _decode_launch),
    Space("chunked_state", chunked_state, product(D=[128], BV=[16, 32, 64, 128], CHUNK=[16, 32, 64], num_warps=[2, 4, 8], num_stages=[1, 2, 3]),
          [(64, 2048, 128), (16, 4096, 128)], _heads, lambda t, s, c: ((*t, s[1]), (128 // c["BV"], s[0]))),
    Space("selective_scan", selective_scan, product(N=[16], BC=[8, 16, 32, 64, 128], num_warps=[1, 2, 4, 8], num_stages=[1, 2, 4]),
          [(8, 512, 4096, 16), (2, 1024, 2048, 16)], _scan_tensors,
          lambda t, s, c: ((*t, *s[1:3]), (cdiv(s[2], c["BC"]), s[0]))),
)  # fmt: skip
