"""Times the backward pass of Liger-Kernel 0.5.10's layer norm by number of warps, for docs/gallery.md.

    pip install --no-deps liger-kernel==0.5.10 && python benchmarks/gallery_times.py

Needs a GPU. The library launches the kernel with Triton's default of 4 warps; this does what the library does
around it, and launches it with more warps too. Fails if the gradients then differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from liger_kernel.ops.layer_norm import _layer_norm_backward_kernel, layer_norm_forward
from triton.testing import do_bench

ROWS, COLUMNS, WARPS = 4096, (4096, 5120, 8192, 16384), (4, 8, 16, 32)
Tensors = Sequence[torch.Tensor]


def backward(saved: Tensors, warps: int) -> tuple[Tensors, int, int]:
    """The gradients of x, weight and bias; the registers per thread and the spilled words of the kernel."""
    dy, x, weight, mean, rstd = saved
    rows, columns = x.shape
    programs = torch.cuda.get_device_properties(x.device).multi_processor_count
    dx = torch.empty_like(x)
    dw = x.new_empty((programs, columns))
    db = torch.empty_like(dw)
    compiled = _layer_norm_backward_kernel[(programs,)](
        *(x, weight, mean, rstd, dx, dw, db, dy),
        *(x.stride(0), dx.stride(0), dw.stride(0), db.stride(0), dy.stride(0)),
        *(rows, columns, math.ceil(rows / programs)),
        BLOCK_SIZE=triton.next_power_of_2(columns),
        dtype=tl.bfloat16,
        num_warps=warps,
    )
    return (dx, dw.sum(dim=0), db.sum(dim=0)), compiled.n_regs, compiled.n_spills


def main() -> None:
    """Prints a line per number of columns and of warps."""
    print(f"{torch.cuda.get_device_name()}, Triton {triton.__version__}, torch {torch.__version__}")
    for columns in COLUMNS:
        x, dy = torch.randn(2, ROWS, columns, device="cuda", dtype=torch.bfloat16)
        weight, bias = torch.randn(2, columns, device="cuda", dtype=torch.bfloat16)
        _, x, mean, rstd, _, _ = layer_norm_forward(x, weight, bias, 1e-6)
        saved = (dy, x, weight, mean, rstd)
        expected = backward(saved, WARPS[0])[0]
        for warps in WARPS:
            gradients, registers, spills = backward(saved, warps)
            for one, other in zip(gradients, expected, strict=True):
                torch.testing.assert_close(one, other, atol=0.2, rtol=0.05)
            ms = do_bench(lambda s=saved, w=warps: backward(s, w), warmup=50, rep=300, return_mode="median")
            counts = f"{registers} registers, {spills} spills"
            print(f"{columns:6} columns, {warps:2} warps: {ms * 1000:7.1f} us, {counts}", flush=True)


if __name__ == "__main__":
    main()
