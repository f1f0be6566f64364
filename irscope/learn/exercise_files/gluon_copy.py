from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_kernel(in_ptr, out_ptr, n, BLOCK_SIZE: gl.constexpr, LAYOUT: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK_SIZE + gl.arange(0, BLOCK_SIZE, layout=LAYOUT)
    mask = offsets < n
    gl.store(out_ptr + offsets, gl.load(in_ptr + offsets, mask=mask), mask=mask)
