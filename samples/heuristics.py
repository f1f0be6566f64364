r"""RMS norm whose compile-time constants are computed from the arguments by @triton.heuristics.

Each value that a heuristic returns is a constant of the compiled kernel, so each new value is a
new compilation: a row length that fills the block exactly (EVEN) needs no masks, and a missing
weight (HAS_WEIGHT) needs no load. Without a launch there are no arguments to compute them from, so
the command sets the values.

    irscope compile samples/heuristics.py --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, fp32" \
        --const HAS_WEIGHT=True --config BLOCK_SIZE=1024,4096 --config EVEN=True,False
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch


@triton.heuristics(
    {
        "BLOCK_SIZE": lambda args: triton.next_power_of_2(args["n_cols"]),
        "EVEN": lambda args: args["n_cols"] == args["BLOCK_SIZE"],
        "HAS_WEIGHT": lambda args: args["w_ptr"] is not None,
        "num_warps": lambda args: 4 if args["BLOCK_SIZE"] <= 2048 else 8,
    }
)
@triton.jit
def rms_norm_kernel(
    x_ptr,
    w_ptr,
    out_ptr,
    n_cols,
    eps,
    BLOCK_SIZE: tl.constexpr,
    EVEN: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK_SIZE)
    mask = None if EVEN else cols < n_cols
    other = None if EVEN else 0.0
    x = tl.load(x_ptr + row + cols, mask=mask, other=other).to(tl.float32)
    out = x * tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    if HAS_WEIGHT:
        out *= tl.load(w_ptr + cols, mask=mask, other=other).to(tl.float32)
    tl.store(out_ptr + row + cols, out.to(out_ptr.dtype.element_ty), mask=mask)


def rms_norm(
    x: "torch.Tensor", w: "torch.Tensor | None" = None, eps: float = 1e-6
) -> "torch.Tensor":
    import torch

    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    rms_norm_kernel[(n_rows,)](x, w, out, n_cols, eps)
    return out


def main() -> None:
    import torch

    torch.manual_seed(0)
    for n_cols in (1000, 1024, 4096):
        x = torch.randn((512, n_cols), device="cuda", dtype=torch.float16)
        for w in (None, torch.rand(n_cols, device="cuda", dtype=torch.float16)):
            expected = x.float() * torch.rsqrt(x.float().square().mean(1, keepdim=True) + 1e-6)
            if w is not None:
                expected *= w.float()
            # All arithmetic is fp32. The result is rounded to fp16: by 2^-11 = 5e-4 of its size,
            # or by up to 2^-25 = 3e-8 if it is too small for that.
            torch.testing.assert_close(rms_norm(x, w).float(), expected, rtol=1e-3, atol=1e-7)
            print(f"heuristics: 512x{n_cols} weight={w is not None}: close to torch")


if __name__ == "__main__":
    main()
