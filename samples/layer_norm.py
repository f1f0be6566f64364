r"""Layer norm over the rows of a matrix, forward and backward: three kernels in one file.

The forward pass and the gradient of the input use one program per row. The gradients of weight and
bias are sums over rows, so there each program owns a strip of columns and loops over the rows.

    irscope compile samples/layer_norm.py::forward_kernel \
        --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, fp32" \
        --config BLOCK_SIZE=1024,4096 --config num_warps=4,8
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch


@triton.jit
def forward_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, n_cols, eps, BLOCK_SIZE: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centered = tl.where(mask, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centered * centered, axis=0) / n_cols + eps)
    w = tl.load(w_ptr + cols, mask=mask).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask).to(tl.float32)
    y = centered * rstd * w + b
    tl.store(y_ptr + row * n_cols + cols, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def backward_input_kernel(
    dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, n_cols, BLOCK_SIZE: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    x_hat = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    dx_hat = dy * w
    # The mean and the variance depend on x too, so subtract their part of the gradient.
    shift = tl.sum(dx_hat, axis=0) / n_cols
    slope = tl.sum(dx_hat * x_hat, axis=0) / n_cols
    dx = (dx_hat - shift - x_hat * slope) * rstd
    tl.store(dx_ptr + row * n_cols + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def backward_params_kernel(
    dy_ptr,
    x_ptr,
    mean_ptr,
    rstd_ptr,
    dw_ptr,
    db_ptr,
    n_rows,
    n_cols,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    col_mask = cols < n_cols
    dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, n_rows, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        row_mask = rows < n_rows
        mask = row_mask[:, None] & col_mask[None, :]
        offsets = rows.to(tl.int64)[:, None] * n_cols + cols[None, :]
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + rows, mask=row_mask, other=0.0)
        rstd = tl.load(rstd_ptr + rows, mask=row_mask, other=0.0)
        dw += dy * (x - mean[:, None]) * rstd[:, None]
        db += dy
    dw_row = tl.sum(dw, axis=0).to(dw_ptr.dtype.element_ty)
    db_row = tl.sum(db, axis=0).to(db_ptr.dtype.element_ty)
    tl.store(dw_ptr + cols, dw_row, mask=col_mask)
    tl.store(db_ptr + cols, db_row, mask=col_mask)


def forward(
    x: "torch.Tensor", w: "torch.Tensor", b: "torch.Tensor", eps: float = 1e-5
) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    mean = torch.empty(n_rows, device=x.device, dtype=torch.float32)
    rstd = torch.empty_like(mean)
    block = triton.next_power_of_2(n_cols)
    forward_kernel[(n_rows,)](x, w, b, y, mean, rstd, n_cols, eps, BLOCK_SIZE=block, num_warps=8)
    return y, mean, rstd


def backward(
    dy: "torch.Tensor",
    x: "torch.Tensor",
    w: "torch.Tensor",
    mean: "torch.Tensor",
    rstd: "torch.Tensor",
) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
    import torch

    n_rows, n_cols = x.shape
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    block = triton.next_power_of_2(n_cols)
    backward_input_kernel[(n_rows,)](
        dy, x, w, mean, rstd, dx, n_cols, BLOCK_SIZE=block, num_warps=8
    )
    backward_params_kernel[lambda META: (triton.cdiv(n_cols, META["BLOCK_N"]),)](
        dy, x, mean, rstd, dw, db, n_rows, n_cols, BLOCK_M=32, BLOCK_N=64
    )
    return dx, dw, db


def main() -> None:
    import torch

    torch.manual_seed(0)
    for n_rows, n_cols in ((1000, 4096), (37, 1000)):
        x = torch.randn(n_rows, n_cols, device="cuda", dtype=torch.float16) * 2 + 0.5
        w = torch.rand(n_cols, device="cuda", dtype=torch.float16)
        b = torch.rand(n_cols, device="cuda", dtype=torch.float16)
        dy = torch.randn_like(x)
        y, mean, rstd = forward(x, w, b)
        results = (y, *backward(dy, x, w, mean, rstd))

        leaves = [t.float().requires_grad_() for t in (x, w, b)]
        expected = torch.nn.functional.layer_norm(leaves[0], (n_cols,), *leaves[1:])
        expected.backward(dy.float())
        references = (expected.detach(), *(leaf.grad for leaf in leaves))

        # All arithmetic is fp32. Only the result is rounded, by at most 2^-11 = 5e-4 of its size.
        # The sums for dw and db add up to 1000 rows in a different order; cancellation leaves an
        # absolute error of about 1000 * 2^-24 * the size of a term.
        for result, reference in zip(results, references, strict=True):
            torch.testing.assert_close(result.float(), reference, rtol=1e-3, atol=1e-3)
        print(f"layer_norm: {n_rows}x{n_cols}: y, dx, dw and db close to torch")


if __name__ == "__main__":
    main()
