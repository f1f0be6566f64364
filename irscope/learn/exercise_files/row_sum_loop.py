import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    total = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        total += tl.load(x_ptr + row * n_cols + start + cols, mask=start + cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))
