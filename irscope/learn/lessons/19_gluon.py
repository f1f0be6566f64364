"""The kernel of lesson 19: samples/gluon_copy.py without Gluon."""

import triton
import triton.language as tl


@triton.jit
def triton_copy_kernel(in_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(in_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x, mask=mask)
