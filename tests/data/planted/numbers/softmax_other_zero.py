import torch
import triton
import triton.language as tl


# After the skeleton in vllm-project/vllm#55009.
@triton.jit
def softmax(out_ptr, x_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row_idx = tl.program_id(0)
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    x = tl.load(x_ptr + row_idx * n_cols + col_offsets, mask=mask, other=0.0)  # bug: padding-reduced -> x = tl.load(x_ptr + row_idx * n_cols + col_offsets, mask=mask, other=float("-inf"))
    x_max = tl.max(x, axis=0)
    numerator = tl.exp(x - x_max)
    tl.store(out_ptr + row_idx * n_cols + col_offsets, numerator / tl.sum(numerator, axis=0), mask=mask)
