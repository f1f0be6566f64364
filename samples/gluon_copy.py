r"""Copy with a layout of your own: Gluon, the language below Triton.

In Triton, the compiler assigns the elements of a block to threads; BLOCK_SIZE and num_warps only
influence its choice. In Gluon, you write the assignment yourself: LAYOUT is a `gl.constexpr` like
any other, so it can be tuned like a block size. `copy_kernel` copies a vector, `copy_2d_kernel` a
matrix; its rows and columns have layouts too, the slices of LAYOUT.

    irscope compile samples/gluon_copy.py::copy_kernel \
        --signature "*fp32:16, *fp32:16, i32:16" --const BLOCK_SIZE=1024 \
        --config "LAYOUT=gl.BlockedLayout([1], [32], [4], [0]), \
        gl.BlockedLayout([4], [32], [4], [0]), gl.BlockedLayout([8], [32], [4], [0])"
"""

from typing import TYPE_CHECKING

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

if TYPE_CHECKING:
    import torch


@gluon.jit
def copy_kernel(in_ptr, out_ptr, n, BLOCK_SIZE: gl.constexpr, LAYOUT: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK_SIZE + gl.arange(0, BLOCK_SIZE, layout=LAYOUT)
    mask = offsets < n
    x = gl.load(in_ptr + offsets, mask=mask)
    gl.store(out_ptr + offsets, x, mask=mask)


@gluon.jit
def copy_2d_kernel(
    in_ptr,
    out_ptr,
    M,
    N,
    stride,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    LAYOUT: gl.constexpr,
):
    rows = gl.program_id(0) * BLOCK_M + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, LAYOUT))
    cols = gl.program_id(1) * BLOCK_N + gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, LAYOUT))
    offsets = rows[:, None] * stride + cols[None, :]
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = gl.load(in_ptr + offsets, mask=mask)
    gl.store(out_ptr + offsets, x, mask=mask)


def copy(x: "torch.Tensor", layout: gl.BlockedLayout) -> "torch.Tensor":
    import torch

    out = torch.empty_like(x)
    n, block = x.numel(), 1024
    copy_kernel[(triton.cdiv(n, block),)](x, out, n, BLOCK_SIZE=block, LAYOUT=layout, num_warps=4)
    return out


def copy_2d(x: "torch.Tensor", layout: gl.BlockedLayout) -> "torch.Tensor":
    import torch

    out = torch.empty_like(x)
    M, N = x.shape
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    copy_2d_kernel[grid](
        x, out, M, N, x.stride(0), BLOCK_M=64, BLOCK_N=64, LAYOUT=layout, num_warps=4
    )
    return out


def main() -> None:
    import torch

    torch.manual_seed(0)
    # A layout must cover the threads of a warp, which are 64 on most AMD GPUs.
    lanes = triton.runtime.driver.active.get_current_target().warp_size
    # A copy changes no bit.
    for n in (1, 1000, 98432):
        x = torch.randn(n, device="cuda")
        for contiguous in (1, 4, 8):
            layout = gl.BlockedLayout([contiguous], [lanes], [4], [0])
            torch.testing.assert_close(copy(x, layout), x, rtol=0, atol=0)
            print(f"gluon_copy: n={n} size_per_thread={contiguous}: equal to torch")
    for M, N in ((1, 1), (200, 328), (1024, 4096)):
        x = torch.randn((M, N), device="cuda")
        for layout in (
            gl.BlockedLayout([1, 4], [lanes // 16, 16], [4, 1], [1, 0]),
            gl.BlockedLayout([4, 1], [16, lanes // 16], [1, 4], [0, 1]),
        ):
            torch.testing.assert_close(copy_2d(x, layout), x, rtol=0, atol=0)
            print(f"gluon_copy: MxN={M}x{N} order={layout.order}: equal to torch")


if __name__ == "__main__":
    main()
