import torch
import triton
import triton.language as tl


def get_configs():
    return [
        triton.Config({"BLOCK_N": n}, num_warps=w, num_stages=s)  # bug: num-stages-unused -> triton.Config({"BLOCK_N": n * s * s}, num_warps=w)
        for n in (512,)
        for w in (4, 8)
        for s in (1, 2, 4)
    ]


@triton.autotune(configs=get_configs(), key=["n_cols"])
@triton.jit
def row_norm(x_ptr, out_ptr, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for i in tl.static_range(4):
        total += i
    cols = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sqrt(tl.sum(x * x)) + total)
