import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    best = float("-inf")
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_ptr + row * n_cols + start + cols, mask=start + cols < n_cols, other=float("-inf"))
        best = tl.maximum(best, tl.max(x, axis=0))
    tl.store(out_ptr + row, best)
