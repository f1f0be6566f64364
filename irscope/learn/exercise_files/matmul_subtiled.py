import triton
import triton.language as tl


@triton.jit
def store_parts(desc, row, col, part, PARTS: tl.constexpr):
    rows: tl.constexpr = part.shape[0]
    cols: tl.constexpr = part.shape[1]
    if PARTS == 1:
        desc.store([row, col], part.to(tl.float16))
    else:
        left, right = tl.split(tl.permute(tl.reshape(part, (rows, 2, cols // 2)), (0, 2, 1)))
        store_parts(desc, row, col, left, PARTS // 2)
        store_parts(desc, row, col + cols // 2, right, PARTS // 2)


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SUBTILES: tl.constexpr,
):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N // SUBTILES])
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        row = tile // tiles_n * BLOCK_M
        col = tile % tiles_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            acc = tl.dot(a.load([row, k]), b.load([k, col]), acc)
        store_parts(c, row, col, acc, SUBTILES)
