import torch
import triton
import triton.language as tl


# After triton-lang/triton#630: masks along K, and nothing where they exclude.
@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, M, N, K, stride_ak, stride_bk, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    offs_am = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_bn = tl.program_id(1) * BN + tl.arange(0, BN)
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + offs_am[:, None] * K + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_bn[None, :]
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a_mask = (offs_am[:, None] < M) & ((offs_k + k)[None, :] < K)
        b_mask = ((offs_k + k)[:, None] < K) & (offs_bn[None, :] < N)
        a = tl.load(a_ptrs, mask=a_mask, other=0.0)
        b = tl.load(b_ptrs, mask=b_mask)  # bug: padding-reduced -> b = tl.load(b_ptrs, mask=b_mask, other=0.0)
        accumulator += tl.dot(a, b)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    c_mask = (offs_am[:, None] < M) & (offs_bn[None, :] < N)
    tl.store(c_ptr + offs_am[:, None] * N + offs_bn[None, :], accumulator, mask=c_mask)
