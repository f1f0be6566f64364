r"""Make the accesses 16 bytes wide for any length, by leaving the last few elements to another kernel.

Keep the signature: `n` need not be a multiple of 16. Let this kernel copy only the first n // 16 * 16 elements.
The compiler must be able to prove that the bound of the mask is a multiple of 16.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32" --config BLOCK_SIZE=1024
"""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x, mask=mask)
