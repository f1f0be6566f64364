"""A layer norm with the arithmetic of triton-lang/triton#11127, whose registers went from 64 to 72.

irscope compile samples/gallery/layer_norm_b200.py --const BLOCK=16384 --config num_warps=16 \
    --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" \
    --target cuda:100
"""

import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(b_ptr, x_ptr, w_ptr, y_ptr, n_cols, y_stride, x_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x_ptrs = x_ptr + row * x_stride + cols
    x = tl.load(x_ptrs, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centered = x - mean
    squares = tl.sum(tl.where(mask, centered * centered, 0.0), axis=0)
    rstd = tl.rsqrt(squares / n_cols + 1e-5)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * y_stride + cols, centered * rstd * w + b, mask=mask)
