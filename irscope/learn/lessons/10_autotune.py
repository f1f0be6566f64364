"""A kernel with classic autotuning mistakes, for `irscope lint` to find. Do not copy it."""

import triton
import triton.language as tl


def prune(configs, named_args):
    return [config for config in configs if config.kwargs["BLOCK_N"] <= named_args["N"]]


@triton.autotune(
    [triton.Config({"BLOCK_M": m, "BLOCK_N": 64}) for m in (32, 64)],
    key=["M"],
    prune_configs_by={"early_config_prune": prune},
)
@triton.jit
def row_max_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    best = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=float("-inf"))
        best = tl.maximum(best, tl.max(x, axis=1))
    tl.store(out_ptr + rows, best, mask=rows < M)


def row_max(x, out):
    rows, cols = x.shape
    grid = (triton.cdiv(rows, 64),)
    row_max_kernel[grid](x, out, rows, cols)
