"""A kernel whose regions have block arguments, for test_labels.py."""

import triton
import triton.language as tl


@triton.jit
def summed(x, y, n, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=DTYPE)
    k = 0
    while k < n:
        acc += tl.load(x + at + k * BLOCK).to(DTYPE)
        k += tl.load(x + k).to(tl.int32)
    tl.store(y + at, acc.to(tl.float32))
    tl.store(y, tl.sum(acc).to(tl.float32))
