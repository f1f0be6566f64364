r"""Write a layout that fits how the matrix is stored: rows are contiguous.

Below, a thread holds four elements of a column. Its accesses are 4 bytes wide.

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16" \
        --const BLOCK_M=64 --const BLOCK_N=64 \
        --config "LAYOUT=gl.BlockedLayout([4, 1], [16, 2], [1, 4], [0, 1])"
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_kernel(in_ptr, out_ptr, stride, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, LAYOUT: gl.constexpr):
    rows = gl.program_id(0) * BLOCK_M + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, LAYOUT))
    cols = gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, LAYOUT))
    offsets = rows[:, None] * stride + cols[None, :]
    gl.store(out_ptr + offsets, gl.load(in_ptr + offsets))
