r"""Let one compilation serve every seed, without narrowing the loads.

Keep the command: at this launch, both `n` and `seed` are divisible by 16. Which of the two should @triton.jit not look
at?

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16, fp32, i32:16" --config BLOCK_SIZE=1024
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
