import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out.store([row, col], x.load([row, col]))
