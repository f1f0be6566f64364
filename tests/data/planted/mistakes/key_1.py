import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BM": 64, "BN": 64, "BK": 32}), triton.Config({"BM": 128, "BN": 128, "BK": 64})], key=["M", "N"])  # bug: key-missing -> @triton.autotune([triton.Config({"BM": 64, "BN": 64, "BK": 32}), triton.Config({"BM": 128, "BN": 128, "BK": 64})], key=["M", "N", "K"])
@triton.jit
def gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    n_steps = tl.cdiv(K, BK)
    step = 0
    while step < n_steps:
        k = step * BK + rk
        x = tl.load(a + rm[:, None] * K + k[None, :], mask=(rm[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + rn[None, :], mask=(k[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        step += 1
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
