"""A kernel whose configs differ in speed for known reasons."""

import triton
import triton.language as tl


@triton.jit
def scale_rows(x, o, C, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for c in range(0, C, B):
        total += tl.load(x + row * C + c + tl.arange(0, B))
    mean = tl.sum(total, 0) / C
    for c in range(0, C, B):
        i = row * C + c + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i) - mean)
