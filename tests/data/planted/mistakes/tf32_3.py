import torch
import triton
import triton.language as tl


@triton.jit
def mm(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :], mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :], mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class MatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        c = a.new_empty((a.shape[0], b.shape[1]))
        mm[(triton.cdiv(a.shape[0], 64), triton.cdiv(b.shape[1], 64))](
            a, b, c, a.shape[0], b.shape[1], a.shape[1], BM=64, BN=64, BK=32)
        return c


matmul = MatMul.apply


def test_forward():
    x = torch.randn(256, 1024, device="cuda", dtype=torch.float32)
    w = torch.randn(1024, 256, device="cuda", dtype=torch.float32)
    out = matmul(x, w)
    diff = (out - x @ w).abs().max()
    assert diff < 1e-4  # bug: tolerance-too-tight -> assert diff < 2e-1
