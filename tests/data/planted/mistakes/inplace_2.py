import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BM": m, "BK": 32, "SPLIT": s}) for m in (32, 64) for s in (2, 4)],
    key=["M", "K"],
)
@triton.jit
def split_k(a_ptr, out_ptr, M, K, BM: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM,), tl.float32)
    for k in range(tl.program_id(1) * BK, K, BK * SPLIT):
        cols = k + tl.arange(0, BK)
        acc += tl.sum(tl.load(a_ptr + rows[:, None] * K + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < K), other=0.0), axis=1)
    ptrs = out_ptr + rows
    tl.atomic_add(ptrs, acc, mask=rows < M)  # bug: reset-to-zero-missing -> tl.store(ptrs + tl.program_id(1) * M, acc, mask=rows < M)
