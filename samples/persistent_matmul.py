r"""A matmul that launches one program per multiprocessor and moves its tiles with TMA.

Each program computes many tiles of C, so it pays for the launch and the prologue once. A, B and C
are tensor descriptors created on the host: one instruction moves a whole block between global and
shared memory, without pointers or masks in the kernel. A descriptor's block shape is part of its
type, so BLOCK_M, BLOCK_N and BLOCK_K must match the signature.

    irscope compile samples/persistent_matmul.py --signature "tensordesc<fp16[128, 64]>, \
        tensordesc<fp16[64, 128]>, tensordesc<fp16[128, 128]>, i32:16, i32:16, i32:16" \
        --const BLOCK_M=128 --const BLOCK_N=128 --const BLOCK_K=64 --const GROUP_M=8 \
        --const NUM_SMS=132 --config num_warps=4,8 --config num_stages=2,3,4
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

if TYPE_CHECKING:
    import torch


@triton.jit
def persistent_matmul_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    NUM_SMS: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, NUM_SMS, flatten=True):
        tile_m, tile_n = tl.swizzle2d(tile // tiles_n, tile % tiles_n, tiles_m, tiles_n, GROUP_M)
        row = tile_m * BLOCK_M
        col = tile_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            a = a_desc.load([row, k])
            b = b_desc.load([k, col])
            acc = tl.dot(a, b, acc)
        c_desc.store([row, col], acc.to(tl.float16))


def matmul(a: "torch.Tensor", b: "torch.Tensor") -> "torch.Tensor":
    import torch

    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    block_m, block_n, block_k = 128, 128, 64
    num_sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    tiles = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    persistent_matmul_kernel[(min(num_sms, tiles),)](
        TensorDescriptor.from_tensor(a, [block_m, block_k]),
        TensorDescriptor.from_tensor(b, [block_k, block_n]),
        TensorDescriptor.from_tensor(c, [block_m, block_n]),
        M,
        N,
        K,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=8,
        NUM_SMS=num_sms,
        num_warps=8,
        num_stages=3,
    )
    return c


def main() -> None:
    import torch

    torch.manual_seed(0)
    for M, N, K in ((128, 128, 64), (1000, 1480, 520), (4096, 4096, 1024)):
        a = torch.randn((M, K), device="cuda", dtype=torch.float16)
        b = torch.randn((K, N), device="cuda", dtype=torch.float16)
        # cuBLAS may round partial sums of size sqrt(K) to fp16, where one unit in the last place
        # is up to 0.25: an absolute error. A wrong index causes errors of sqrt(K) or more.
        torch.testing.assert_close(matmul(a, b), torch.matmul(a, b), rtol=1e-2, atol=1.0)
        print(f"persistent_matmul: MxNxK={M}x{N}x{K}: close to torch")


if __name__ == "__main__":
    main()
