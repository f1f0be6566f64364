import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    scale,
    n,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + rows[:, None] * HEAD_DIM + dims[None, :])
    largest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), tl.float32)
    for start in range(0, n, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + keys[None, :] * HEAD_DIM + dims[:, None])
        scores = tl.dot(q, k) * scale
        scores = tl.where(keys[None, :] <= rows[:, None], scores, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        correction = tl.exp(largest - new_largest)
        p = tl.exp(scores - new_largest[:, None])
        total = total * correction + tl.sum(p, axis=1)
        v = tl.load(v_ptr + keys[:, None] * HEAD_DIM + dims[None, :])
        acc = acc * correction[:, None] + tl.dot(p.to(tl.float16), v)
        largest = new_largest
    tl.store(out_ptr + rows[:, None] * HEAD_DIM + dims[None, :], (acc / total[:, None]).to(tl.float16))
