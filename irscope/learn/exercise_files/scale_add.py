import triton
import triton.language as tl


@triton.jit
def scale_add_kernel(x_ptr, y_ptr, out_ptr, n, factor, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    scaled = tl.load(x_ptr + offsets, mask=mask) * factor
    tl.store(out_ptr + offsets, scaled + tl.load(y_ptr + offsets, mask=mask), mask=mask)
