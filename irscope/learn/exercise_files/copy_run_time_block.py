import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, block_size):
    offsets = tl.program_id(0) * block_size + tl.arange(0, block_size)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
