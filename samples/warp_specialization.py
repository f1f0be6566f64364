r"""A matmul loop with its own number of stages, with and without warp specialization.

`tl.range` sets both for one loop; the launch's `num_stages` is the default for all loops. With
WARP_SPECIALIZE, the compiler assigns the loads and the matrix instructions to different groups of
warps (`ttg.warp_specialize` in TTGIR), so the kernel is launched with more than num_warps warps.
Whether it can split a loop depends on the target and the block: on cuda:90, Triton 3.6 and 3.9
split this one, fail on 128 x 128 with 4 warps, and do not split it with 8.

    irscope compile samples/warp_specialization.py --target cuda:90 --target cuda:100 \
        --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, \
        tensordesc<fp16[64, 128]>, i32:16, i32:16, i32:16" \
        --const BLOCK_M=64 --const BLOCK_N=128 --const BLOCK_K=64 \
        --config STAGES=2,3 --config WARP_SPECIALIZE=False,True
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

if TYPE_CHECKING:
    import torch


@triton.jit
def specialized_matmul_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
    WARP_SPECIALIZE: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    row = (tl.program_id(0) % tiles_m) * BLOCK_M
    col = (tl.program_id(0) // tiles_m) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K, num_stages=STAGES, warp_specialize=WARP_SPECIALIZE):
        a = a_desc.load([row, k])
        b = b_desc.load([k, col])
        acc = tl.dot(a, b, acc)
    c_desc.store([row, col], acc.to(tl.float16))


def matmul(a: "torch.Tensor", b: "torch.Tensor", warp_specialize: bool) -> "torch.Tensor":
    import torch

    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    block_m, block_n, block_k = 64, 128, 64
    specialized_matmul_kernel[(triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)](
        TensorDescriptor.from_tensor(a, [block_m, block_k]),
        TensorDescriptor.from_tensor(b, [block_k, block_n]),
        TensorDescriptor.from_tensor(c, [block_m, block_n]),
        M,
        N,
        K,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        STAGES=3,
        WARP_SPECIALIZE=warp_specialize,
        num_warps=4,
    )
    return c


def main() -> None:
    import torch

    torch.manual_seed(0)
    for M, N, K in ((128, 128, 64), (1000, 1480, 520), (4096, 4096, 1024)):
        a = torch.randn((M, K), device="cuda", dtype=torch.float16)
        b = torch.randn((K, N), device="cuda", dtype=torch.float16)
        for warp_specialize in (False, True):
            # cuBLAS may round partial sums of size sqrt(K) to fp16, where one unit in the last
            # place is up to 0.25: an absolute error. A wrong index causes errors of sqrt(K).
            out = matmul(a, b, warp_specialize)
            torch.testing.assert_close(out, torch.matmul(a, b), rtol=1e-2, atol=1.0)
            print(
                f"warp_specialization: MxNxK={M}x{N}x{K} warp_specialize={warp_specialize}:"
                " close to torch"
            )


if __name__ == "__main__":
    main()
