r"""Let one compilation serve every number of rows, from 1 on, with loads that stay 16 bytes wide.

Keep the command: at this launch, num_rows and n_cols are multiples of 16. Which of them only counts, and on which one
do addresses depend?

    irscope compile exercise.py --signature "*fp32:16, *fp32:16, i32:16, i32:16" --config BLOCK_SIZE=1024
"""

import triton
import triton.language as tl


@triton.jit
def scale_rows_kernel(x_ptr, out_ptr, num_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    for row in range(tl.program_id(0), num_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols)
        tl.store(out_ptr + row * n_cols + cols, x * 0.5, mask=cols < n_cols)
