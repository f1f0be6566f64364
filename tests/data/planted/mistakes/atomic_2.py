import torch
import triton
import triton.language as tl


@triton.jit
def column_grad(dy_ptr, dw_ptr, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    dy = tl.load(dy_ptr + rows[:, None] * stride + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)
    dw = tl.load(dw_ptr + cols, mask=cols < N, other=0.0)
    dw += tl.sum(dy, axis=0)
    tl.store(dw_ptr + cols, dw, mask=cols < N)  # bug: accumulation-not-atomic -> tl.atomic_add(dw_ptr + cols, tl.sum(dy, axis=0), mask=cols < N)


def backward(dy):
    M, N = dy.shape
    dw = torch.zeros(N, device=dy.device, dtype=torch.float32)
    column_grad[(triton.cdiv(M, 32), triton.cdiv(N, 64))](dy, dw, M, N, dy.stride(0), BM=32, BN=64)
    return dw
