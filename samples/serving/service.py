"""A service with two kernels, one of them autotuned; docs/production.md builds its warm folder."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x) / columns + 1e-6)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + row * columns + offsets, x * scale * weight, mask=mask)


@triton.autotune(
    [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((512, 4), (1024, 8))],
    key=["size"],
    cache_results=True,
)
@triton.jit
def silu_kernel(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < size).to(tl.float32)
    tl.store(out_ptr + offsets, x * tl.sigmoid(x), mask=offsets < size)


def answer(rows: int, columns: int) -> torch.Tensor:
    """A request: `rows` tokens of width `columns`."""
    x = torch.zeros(rows, columns, device="cuda", dtype=torch.float16)
    weight = torch.ones(columns, device="cuda", dtype=torch.float16)
    normalized, out = torch.empty_like(x), torch.empty_like(x)
    rms_norm_kernel[(rows,)](x, weight, normalized, columns, BLOCK=triton.next_power_of_2(columns))
    silu_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](normalized, out, x.numel())
    return out


if __name__ == "__main__":
    print(answer(4, 1024).shape)
