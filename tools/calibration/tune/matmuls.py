"""Matrix products: split-K, 8-bit and 4-bit operands, persistent, tensor descriptors, batched, grouped."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tools.calibration.tune.spaces import Space, cdiv, product

SMS = 132


def half(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float16)


@triton.jit
def split_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    tile, part = tl.program_id(0), tl.program_id(1)
    columns = tl.cdiv(N, BN)
    rm = (tile // columns) * BM + tl.arange(0, BM)
    rn = (tile % columns) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(part * BK, K, BK * SPLIT):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None], other=0.0)
        y = tl.load(b + rk[:, None] * N + rn[None, :], mask=(rn < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.atomic_add(
        c + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :], sem="relaxed"
    )


@triton.jit
def fp8_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    tile = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = tile // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    rm = (first + tile % height) * BM + tl.arange(0, BM)
    rn = (tile % (GROUP * columns) // height) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * K + rk[None, :]
    pb = b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


@triton.jit
def int8_weights(a, b, scale, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None], other=0.0)
        y = tl.load(b + rk[:, None] * N + rn[None, :])
        acc = tl.dot(x, y.to(tl.float16), acc)
    acc *= tl.load(scale + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=(rm < M)[:, None])


@triton.jit
def int4_weights(a, b, scale, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None], other=0.0)
        packed = tl.load(b + (rk // 8)[:, None] * N + rn[None, :])
        y = ((packed >> (rk % 8 * 4)[:, None]) & 15) - 8
        s = tl.load(scale + (k // 128) * N + rn)
        acc = tl.dot(x, (y * s[None, :]).to(tl.float16), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=(rm < M)[:, None])


@triton.jit
def persistent(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr
):
    columns = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * columns
    for tile in range(tl.program_id(0), tiles, PROGRAMS):
        rm = tile // columns * BM + tl.arange(0, BM)
        rn = tile % columns * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            x = tl.load(a + rm[:, None] * K + rk[None, :])
            y = tl.load(b + rk[:, None] * N + rn[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    rows = tl.cdiv(M, BM)
    m, n = tile % rows * BM, tile // rows * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(tl.float16))


@triton.jit
def batched(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(1)
    columns = tl.cdiv(N, BN)
    rm = tl.program_id(0) // columns * BM + tl.arange(0, BM)
    rn = tl.program_id(0) % columns * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + batch * M * K + rm[:, None] * K + rk[None, :])
        y = tl.load(b + batch * K * N + rk[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + batch * M * N + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def experts(a, w, c, tokens, owner, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A layer of a mixture of experts: block m multiplies its gathered tokens with its expert's weights."""
    block = tl.program_id(1)
    row = tl.load(tokens + block * BM + tl.arange(0, BM))
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    w += tl.load(owner + block * BM // 128).to(tl.int64) * N * K
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + row[:, None] * K + rk[None, :])
        y = tl.load(w + rn[None, :] * K + rk[:, None])
        acc = tl.dot(x, y, acc)
    tl.store(c + (block * BM + tl.arange(0, BM))[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def swiglu_matmul(a, w, v, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :])
        gate = tl.dot(x, tl.load(w + rk[:, None] * N + rn[None, :]), gate)
        up = tl.dot(x, tl.load(v + rk[:, None] * N + rn[None, :]), up)
    tl.store(c + rm[:, None] * N + rn[None, :], (gate * tl.sigmoid(gate) * up).to(tl.float16))


@triton.jit
def tf32_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :])
        y = tl.load(b + rk[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def matvec(w, x, y, N, K, BN: tl.constexpr, BK: tl.constexpr):
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN, BK), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc += (
            tl.load(w + rn[:, None] * K + rk[None, :]).to(tl.float32)
            * tl.load(x + rk).to(tl.float32)[None, :]
        )
    tl.store(y + rn, tl.sum(acc, 1).to(tl.float16))


def _tiles(shape, config):
    return (cdiv(shape[0], config["BM"]), cdiv(shape[1], config["BN"]))


def _flat(shape, config):
    rows, columns = _tiles(shape, config)
    return (rows * columns,)


def _half_tensors(shape):
    m, n, k = shape
    return half(m, k), half(k, n), half(m, n)


def _fp8_tensors(shape):
    m, n, k = shape
    a, b = (half(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)


def _int8_tensors(shape):
    m, n, k = shape
    return half(m, k), torch.randint(-128, 128, (k, n), device="cuda", dtype=torch.int8), half(n), half(m, n)


def _int4_tensors(shape):
    m, n, k = shape
    packed = torch.randint(0, 2**31 - 1, (k // 8, n), device="cuda", dtype=torch.int32)
    return half(m, k), packed, half(k // 128, n), half(m, n)


def _descriptor_launch(tensors, shape, config):
    a, b, c = tensors
    bm, bn, bk = config["BM"], config["BN"], config["BK"]
    described = (
        TensorDescriptor.from_tensor(a, [bm, bk]),
        TensorDescriptor.from_tensor(b, [bn, bk]),
        TensorDescriptor.from_tensor(c, [bm, bn]),
    )
    return (*described, *shape), _flat(shape, config)


def _descriptor_tensors(shape):
    m, n, k = shape
    return half(m, k), half(n, k), half(m, n)


def _batched_tensors(shape):
    m, n, k, batch = shape
    return half(batch, m, k), half(batch, k, n), half(batch, m, n)


def _expert_tensors(shape):
    rows, n, k, count = shape
    tokens = torch.randperm(rows, device="cuda").to(torch.int32)
    owner = torch.arange(rows // 128, device="cuda", dtype=torch.int32) * count // (rows // 128)
    return half(rows, k), half(count, n, k), half(rows, n), tokens, owner


def _wide(m, n, k, **more):
    return product(BM=m, BN=n, BK=k, num_warps=[4, 8], num_stages=[2, 3, 4], **more)


SPACES = (
    Space("split_k", split_k, _wide([16, 32, 64, 128], [32, 64, 128], [32, 64, 128], SPLIT=[1, 2, 4, 8, 16]),
          [(64, 4096, 8192), (256, 1024, 16384), (512, 512, 4096)],
          lambda s: (half(s[0], s[2]), half(s[2], s[1]), torch.zeros(s[:2], device="cuda")),
          lambda t, s, c: ((*t, *s), (*_flat(s, c), c["SPLIT"]))),
    Space("fp8_matmul", fp8_matmul, _wide([64, 128, 256], [64, 128, 256], [64, 128], GROUP=[8]),
          [(4096, 4096, 4096), (1024, 2048, 4096)], _fp8_tensors, lambda t, s, c: ((*t, *s), _flat(s, c))),
    Space("int8_weights", int8_weights, _wide([16, 32, 64, 128], [32, 64, 128, 256], [32, 64, 128]),
          [(16, 8192, 8192), (1024, 4096, 4096)], _int8_tensors, lambda t, s, c: ((*t, *s), _tiles(s, c))),
    Space("int4_weights", int4_weights, _wide([16, 32, 64, 128], [32, 64, 128, 256], [32, 64, 128]),
          [(16, 8192, 8192), (512, 4096, 4096)], _int4_tensors, lambda t, s, c: ((*t, *s), _tiles(s, c))),
    Space("persistent", persistent, _wide([64, 128, 256], [64, 128, 256], [32, 64], PROGRAMS=[SMS, 2 * SMS]),
          [(4096, 4096, 2048), (2048, 8192, 1024)], _half_tensors, lambda t, s, c: ((*t, *s), (c["PROGRAMS"],))),
    Space("descriptors", descriptors, _wide([64, 128, 256], [64, 128, 256], [32, 64, 128]),
          [(4096, 4096, 4096), (1024, 4096, 2048)], _descriptor_tensors, _descriptor_launch),
    Space("batched", batched, _wide([16, 32, 64, 128], [16, 32, 64, 128], [16, 32, 64]),
          [(128, 128, 128, 1024), (256, 128, 512, 512)], _batched_tensors,
          lambda t, s, c: ((*t, *s[:3]), (*_flat(s, c), s[3]))),
    Space("experts", experts, _wide([16, 32, 64, 128], [64, 128, 256], [32, 64, 128]),
          [(4096, 2048, 2048, 16), (1024, 4096, 1024, 8)], _expert_tensors,
          lambda t, s, c: ((*t, *s[1:3]), (s[1] // c["BN"], s[0] // c["BM"]))),
    Space("swiglu_matmul", swiglu_matmul, _wide([32, 64, 128], [32, 64, 128, 256], [32, 64]),
          [(4096, 4096, 2048), (512, 8192, 2048)],
          lambda s: (half(s[0], s[2]), half(s[2], s[1]), half(s[2], s[1]), half(*s[:2])),
          lambda t, s, c: ((*t, *s), _tiles(s, c))),
    Space("tf32_matmul", tf32_matmul, _wide([32, 64, 128], [32, 64, 128], [16, 32, 64]), [(2048, 2048, 2048), (512, 512, 8192)],
          lambda s: [tensor.float() for tensor in _half_tensors(s)], lambda t, s, c: ((*t, *s), _tiles(s, c))),
    Space("matvec", matvec, product(BN=[1, 2, 4, 8, 16, 32], BK=[128, 256, 512, 1024], num_warps=[1, 2, 4, 8], num_stages=[1, 3]),
          [(16384, 8192), (4096, 4096)], lambda s: (half(*s), half(s[1]), half(s[0])),
          lambda t, s, c: ((*t, *s), (s[0] // c["BN"],))),
)  # fmt: skip
