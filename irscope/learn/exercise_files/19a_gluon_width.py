r"""Write a layout whose loads are 16 bytes wide.

BlockedLayout has the elements per thread, threads per warp, warps per block, and the order. An element has 4 bytes.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" --const BLOCK_SIZE=1024 \
        --config "LAYOUT=gl.BlockedLayout([1], [32], [4], [0])"
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_kernel(in_ptr, out_ptr, n, BLOCK_SIZE: gl.constexpr, LAYOUT: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK_SIZE + gl.arange(0, BLOCK_SIZE, layout=LAYOUT)
    mask = offsets < n
    gl.store(out_ptr + offsets, gl.load(in_ptr + offsets, mask=mask), mask=mask)
