import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 192})],  # bug: block-not-power-of-two -> configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})],
    key=["n"],
)
@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
