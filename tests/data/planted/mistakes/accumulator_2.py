import torch
import triton
import triton.language as tl


@triton.jit
def gemv(w, x, y, n_rows, n_cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    total = tl.zeros([BLOCK_R], tl.bfloat16)  # bug: half-accumulator -> total = tl.zeros([BLOCK_R], tl.float32)
    for c0 in range(0, n_cols, BLOCK_C):
        c = c0 + tl.arange(0, BLOCK_C)
        wt = tl.load(w + r[:, None] * n_cols + c[None, :], mask=(r[:, None] < n_rows) & (c[None, :] < n_cols), other=0.0)
        xt = tl.load(x + c, mask=c < n_cols, other=0.0)
        total = total + tl.sum(wt * xt[None, :], axis=1)
    tl.store(y + r, total, mask=r < n_rows)


def run(w, x):
    y = torch.empty(w.shape[0], device=w.device, dtype=w.dtype)
    gemv[(triton.cdiv(w.shape[0], 64),)](w, x, y, w.shape[0], w.shape[1], BLOCK_R=64, BLOCK_C=128)
    return y
