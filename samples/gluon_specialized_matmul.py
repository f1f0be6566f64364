r"""A warp-specialized matmul in Gluon: one warp copies tiles, four multiply them.

`gl.warp_specialize` gives each function warps of its own, which run at the same time. They share
the buffers through two mbarriers per buffer: `ready` says that a pair of tiles arrived, `free` that
the multiplication has read it. Compare it with gluon_matmul.py, where every warp does both in turn.
The last list moves registers from the copying warp to the others.

    irscope compile samples/gluon_specialized_matmul.py --signature \
        "tensordesc<fp16[128, 64], gl.NVMMASharedLayout(128, 16)>, \
        tensordesc<fp16[64, 128], gl.NVMMASharedLayout(128, 16)>, \
        tensordesc<fp16[128, 128], gl.NVMMASharedLayout(128, 16)>, i32:16, i32:16, i32:16" \
        --const "ACC_LAYOUT=gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])" \
        --config STAGES=3,4
"""

from typing import TYPE_CHECKING

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

if TYPE_CHECKING:
    import torch

# Triton 3.8 renamed these functions.
load_tile = getattr(tma, "async_load", tma.async_copy_global_to_shared)
store_tile = getattr(tma, "async_store", tma.async_copy_shared_to_global)


@gluon.jit
def copy_tiles(a_desc, b_desc, row, col, K, a_tiles, b_tiles, ready, free):
    """Copies pair after pair of tiles, each as soon as its buffer is free."""
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    STAGES: gl.constexpr = a_tiles.shape[0]
    for step in range(gl.cdiv(K, BLOCK_K)):
        index = step % STAGES
        # Nobody has used a buffer before its first step: the phase before the first one is over.
        mbarrier.wait(free.index(index), phase=((step // STAGES) & 1) ^ 1)
        bar = ready.index(index)
        mbarrier.expect(bar, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        load_tile(a_desc, [row, step * BLOCK_K], bar, a_tiles.index(index))
        load_tile(b_desc, [step * BLOCK_K, col], bar, b_tiles.index(index))


@gluon.jit
def multiply_tiles(
    c_desc, row, col, steps, a_tiles, b_tiles, ready, free, ACC_LAYOUT: gl.constexpr
):
    """Multiplies pair after pair of tiles, and stores the sum of the products."""
    STAGES: gl.constexpr = a_tiles.shape[0]
    BLOCK_M: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    acc = gl.zeros((BLOCK_M, BLOCK_N), gl.float32, ACC_LAYOUT)
    for step in range(steps):
        index = step % STAGES
        mbarrier.wait(ready.index(index), phase=(step // STAGES) & 1)
        acc = warpgroup_mma(a_tiles.index(index), b_tiles.index(index), acc, is_async=True)
        # One multiplication may still run; the one before has read its buffer.
        acc = warpgroup_mma_wait(1, deps=(acc,))
        mbarrier.arrive(free.index((step + STAGES - 1) % STAGES), pred=step > 0)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    c_tile = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c_tile.store(acc.to(c_desc.dtype))
    # The TMA reads shared memory through another path than the threads' stores.
    fence_async_shared()
    store_tile(c_desc, [row, col], c_tile)
    tma.store_wait(pendings=0)


@gluon.jit
def specialized_matmul_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    ACC_LAYOUT: gl.constexpr,
    STAGES: gl.constexpr,
):
    BLOCK_M: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    tiles_m = gl.cdiv(M, BLOCK_M)
    row = (gl.program_id(0) % tiles_m) * BLOCK_M
    col = (gl.program_id(0) // tiles_m) * BLOCK_N
    steps = gl.cdiv(K, BLOCK_K)

    a_tiles = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BLOCK_M, BLOCK_K], a_desc.layout)
    b_tiles = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_K, BLOCK_N], b_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
        mbarrier.init(free.index(i), count=1)

    # The first function gets the kernel's own warps, each other one as many as the list says.
    gl.warp_specialize(
        [
            (multiply_tiles, (c_desc, row, col, steps, a_tiles, b_tiles, ready, free, ACC_LAYOUT)),
            (copy_tiles, (a_desc, b_desc, row, col, K, a_tiles, b_tiles, ready, free)),
        ],
        [1],
        [24],
    )


def matmul(a: "torch.Tensor", b: "torch.Tensor", stages: int) -> "torch.Tensor":
    import torch

    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    block_m, block_n, block_k = 128, 128, 64
    swizzled = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    specialized_matmul_kernel[(triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)](
        TensorDescriptor.from_tensor(a, [block_m, block_k], swizzled),
        TensorDescriptor.from_tensor(b, [block_k, block_n], swizzled),
        TensorDescriptor.from_tensor(c, [block_m, block_n], swizzled),
        M,
        N,
        K,
        ACC_LAYOUT=gl.NVMMADistributedLayout([3, 0], [4, 1], [16, block_n, 16]),
        STAGES=stages,
        num_warps=4,
    )
    return c


def main() -> None:
    import torch

    torch.manual_seed(0)
    for M, N, K in ((128, 128, 64), (1000, 1480, 520), (4096, 4096, 1024)):
        a = torch.randn((M, K), device="cuda", dtype=torch.float16)
        b = torch.randn((K, N), device="cuda", dtype=torch.float16)
        for stages in (2, 3, 4):
            # cuBLAS may round partial sums of size sqrt(K) to fp16, where one unit in the last
            # place is up to 0.25: an absolute error. A wrong index causes errors of sqrt(K).
            out = matmul(a, b, stages)
            torch.testing.assert_close(out, torch.matmul(a, b), rtol=1e-2, atol=1.0)
            print(f"gluon_specialized_matmul: MxNxK={M}x{N}x{K} stages={stages}: close to torch")


if __name__ == "__main__":
    main()
