r"""Add two vectors: the simplest useful kernel.

Each program adds one block. The last block needs the mask. Because the length is known to be
divisible by 16, the mask does not prevent 16-byte loads; change `i32:16` to `i32` in the signature,
and it does.

    irscope compile samples/vector_add.py \
        --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --config BLOCK_SIZE=256,1024
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x: "torch.Tensor", y: "torch.Tensor") -> "torch.Tensor":
    import torch

    out = torch.empty_like(x)
    n = out.numel()
    add_kernel[lambda META: (triton.cdiv(n, META["BLOCK_SIZE"]),)](x, y, out, n, BLOCK_SIZE=1024)
    return out


def main() -> None:
    import torch

    torch.manual_seed(0)
    for n in (1, 1000, 98432):
        x = torch.randn(n, device="cuda")
        y = torch.randn(n, device="cuda")
        # The result of one fp32 addition is fully determined, so the results are identical.
        torch.testing.assert_close(add(x, y), x + y, rtol=0, atol=0)
        print(f"vector_add: n={n}: equal to torch")


if __name__ == "__main__":
    main()
