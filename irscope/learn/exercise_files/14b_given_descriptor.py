r"""Let the caller make the descriptors, and copy the same tile.

The kernel takes two descriptors instead of pointers, M and N. In the signature, the type of a descriptor names its
block: tensordesc<fp16[64, 64]>.

    irscope compile exercise.py --signature "*fp16:16, *fp16:16, i32:16, i32:16" \
        --config BLOCK_M=64 --config BLOCK_N=64
"""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out.store([row, col], x.load([row, col]))
