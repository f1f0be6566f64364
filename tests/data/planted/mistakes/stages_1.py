import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK": 1024}, num_warps=4, num_stages=4),  # bug: num-stages-unused -> triton.Config({"BLOCK": 2048}, num_warps=4, num_stages=2),
    ],
    key=["n"],
)
@triton.jit
def gelu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v * tl.sigmoid(1.702 * v), mask=i < n)
