r"""Four ways to look into a kernel: print and assert, at compile time and at run time.

static_print and static_assert run in the compiler and leave nothing in the binary: with
BLOCK_SIZE=32, only that variant fails, with the assertion's message. device_print becomes a call
to printf in every thread, so on a GPU this prints 32 lines: one program with one warp.
device_assert is compiled only with debug=True (or TRITON_DEBUG=1).

    irscope compile samples/debugging.py --signature "*fp32:16, *fp32:16, i32:16" \
        --config BLOCK_SIZE=64,128 --config num_warps=1,4
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch


@triton.jit(debug=True)
def sqrt_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    tl.static_print("compiling sqrt_kernel with BLOCK_SIZE =", BLOCK_SIZE)
    tl.static_assert(BLOCK_SIZE >= 64, "BLOCK_SIZE must be at least 64")
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.device_assert(x >= 0, "sqrt of a negative number", mask=mask)
    total = tl.sum(x, axis=0)
    if pid == 0:
        tl.device_print("sum of the first block: ", total)
    tl.store(out_ptr + offsets, tl.sqrt(x), mask=mask)


def sqrt(x: "torch.Tensor") -> "torch.Tensor":
    import torch

    out = torch.empty_like(x)
    n = x.numel()
    sqrt_kernel[lambda META: (triton.cdiv(n, META["BLOCK_SIZE"]),)](
        x, out, n, BLOCK_SIZE=128, num_warps=1
    )
    return out


def main() -> None:
    import torch

    x = torch.arange(256, device="cuda", dtype=torch.float32)
    out = sqrt(x)
    torch.cuda.synchronize()  # flushes what the device printed
    # tl.sqrt is approximate: it is off by one or two units in the last place, 2^-23 each.
    torch.testing.assert_close(out, torch.sqrt(x), rtol=5e-7, atol=0)
    print("debugging: n=256: close to torch")


if __name__ == "__main__":
    main()
