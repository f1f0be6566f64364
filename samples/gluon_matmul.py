r"""A matmul in Gluon on Hopper's tensor cores: every buffer, barrier and wait is written out.

TMA copies the tiles into shared memory, `warpgroup_mma` multiplies them from there. What Triton's
pipeliner does for `tl.dot` in a loop is done by hand here: STAGES buffers, one mbarrier per buffer,
and a copy that is STAGES - 1 iterations ahead. ACC_LAYOUT assigns the accumulator to threads;
instr_shape in it chooses the instruction. The layout of a tile in shared memory is part of its
descriptor.

    irscope compile samples/gluon_matmul.py --signature \
        "tensordesc<fp16[128, 64], gl.NVMMASharedLayout(128, 16)>, \
        tensordesc<fp16[64, 128], gl.NVMMASharedLayout(128, 16)>, \
        tensordesc<fp16[128, 128], gl.NVMMASharedLayout(128, 16)>, i32:16, i32:16, i32:16" \
        --config "ACC_LAYOUT=gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16]), \
        gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])" --config STAGES=2,3
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
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

if TYPE_CHECKING:
    import torch

# Triton 3.8 renamed these functions.
load_tile = getattr(tma, "async_load", tma.async_copy_global_to_shared)
store_tile = getattr(tma, "async_store", tma.async_copy_shared_to_global)


@gluon.jit
def start_copies(a_desc, b_desc, row, col, k, a_tiles, b_tiles, ready, index, pred):
    """Starts the copies of one pair of tiles into buffer `index`; `ready` counts their bytes."""
    bar = ready.index(index)
    mbarrier.expect(bar, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
    load_tile(a_desc, [row, k], bar, a_tiles.index(index), pred=pred)
    load_tile(b_desc, [k, col], bar, b_tiles.index(index), pred=pred)


@gluon.jit
def matmul_kernel(
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

    a_tiles = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BLOCK_M, BLOCK_K], a_desc.layout)
    b_tiles = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_K, BLOCK_N], b_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)

    for i in gl.static_range(STAGES - 1):
        start_copies(
            a_desc, b_desc, row, col, i * BLOCK_K, a_tiles, b_tiles, ready, i, i * BLOCK_K < K
        )

    acc = warpgroup_mma_init(gl.zeros((BLOCK_M, BLOCK_N), gl.float32, ACC_LAYOUT))
    for step in range(gl.cdiv(K, BLOCK_K)):
        # A buffer is used again every STAGES steps, and its barrier's phase flips each time.
        index = step % STAGES
        mbarrier.wait(ready.index(index), phase=(step // STAGES) & 1)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        # The wait shows that the buffer of the step before is free.
        ahead = step + STAGES - 1
        k = ahead * BLOCK_K
        start_copies(a_desc, b_desc, row, col, k, a_tiles, b_tiles, ready, ahead % STAGES, k < K)
        acc = warpgroup_mma(a_tiles.index(index), b_tiles.index(index), acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=(acc,))

    for i in gl.static_range(STAGES):
        mbarrier.invalidate(ready.index(i))
    c_tile = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c_tile.store(acc.to(c_desc.dtype))
    # The TMA reads shared memory through another path than the threads' stores.
    fence_async_shared()
    store_tile(c_desc, [row, col], c_tile)
    tma.store_wait(pendings=0)


def matmul(a: "torch.Tensor", b: "torch.Tensor", stages: int) -> "torch.Tensor":
    import torch

    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    block_m, block_n, block_k = 128, 128, 64
    swizzled = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    matmul_kernel[(triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)](
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
            print(f"gluon_matmul: MxNxK={M}x{N}x{K} stages={stages}: close to torch")


if __name__ == "__main__":
    main()
