from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_kernel(in_ptr, out_ptr, stride, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, LAYOUT: gl.constexpr):
    rows = gl.program_id(0) * BLOCK_M + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, LAYOUT))
    cols = gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, LAYOUT))
    offsets = rows[:, None] * stride + cols[None, :]
    gl.store(out_ptr + offsets, gl.load(in_ptr + offsets))
