import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def add_inplace(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    y = tl.load(y_ptr + at, mask=mask)
    tl.store(x_ptr + at, x + y, mask=mask)  # bug: reset-to-zero-missing -> tl.store(y_ptr + n + at, x + y, mask=mask)
