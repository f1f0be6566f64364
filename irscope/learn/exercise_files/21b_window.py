r"""Compile once for all windows.

Each value of WINDOW is a compilation now. Make it an ordinary argument, in the kernel and in the command. Two sizes of
BLOCK may remain: a shape has to be a constant.

    irscope compile exercise.py --signature "*i32:16, *i32:16" --config BLOCK=128,256 --config WINDOW=100
"""

import triton
import triton.language as tl


@triton.jit
def count_kernel(tokens_ptr, counts_ptr, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tokens = tl.load(tokens_ptr + offsets, mask=offsets < WINDOW, other=0)
    tl.atomic_add(counts_ptr + tokens, 1, mask=offsets < WINDOW)
