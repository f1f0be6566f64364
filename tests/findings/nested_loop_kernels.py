"""A persistent matmul whose two loops can be flattened into one, for test_flattened_loops.py."""

import triton
import triton.language as tl


@triton.jit
def persistent(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, FLATTEN: tl.constexpr,
):  # fmt: skip
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, 132, flatten=FLATTEN, warp_specialize=True):
        row, column = tile // tiles_n * BLOCK_M, tile % tiles_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([row, k * BLOCK_K])
            b = b_desc.load([column, k * BLOCK_K])
            acc = tl.dot(a, b.T, acc)
        c_desc.store([row, column], acc.to(tl.float16))
