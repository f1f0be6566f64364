import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, w_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        w = tl.load(w_ptr + k[:, None] * N + n[None, :], mask=k[:, None] < K, other=0.0)
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc)


def check():
    x = torch.randn(1024, 4096, device="cuda")
    w = torch.randn(4096, 1024, device="cuda")
    y = torch.empty(1024, 1024, device="cuda")
    linear_kernel[(16, 16)](x, w, y, 1024, 1024, 4096, BM=64, BN=64, BK=32)
    expected = torch.mm(x, w)
    assert torch.max(torch.abs(y - expected)) <= 1e-3  # bug: tolerance-too-tight -> assert torch.max(torch.abs(y - expected)) <= 0.5
