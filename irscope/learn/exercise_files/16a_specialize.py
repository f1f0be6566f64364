r"""Let some warps load and others multiply.

One argument of tl.range turns warp specialization on for this loop.

    irscope compile exercise.py --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, \
        tensordesc<fp16[64, 128]>, i32:16, i32:16, i32:16" \
        --config BLOCK_M=64 --config BLOCK_N=128 --config BLOCK_K=64 --config num_warps=4 --config num_stages=3
"""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, col]), acc)
    c_desc.store([row, col], acc.to(tl.float16))
