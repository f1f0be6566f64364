import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024}, num_warps=8)], key=[])  # bug: key-missing -> @triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024}, num_warps=8)], key=["n_cols"])
@triton.jit
def logsumexp(x_ptr, out_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = -float("inf")
    s = 0.0
    for start in tl.range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
        new = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(x - new), axis=0)
        m = new
    tl.store(out_ptr + row, m + tl.log(s))
