r"""Make the generator cheaper: seven rounds of Philox instead of ten.

Seven are the fewest that pass the statistical tests of its authors; the others are a safety margin.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16, fp32, i32" --config BLOCK_SIZE=1024
"""

import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) >= p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)
