import torch
import triton
import triton.language as tl


@triton.jit
def zero_tile(out, stride, M: tl.constexpr, N: tl.constexpr):
    tile = tl.zeros((M, N), dtype=tl.float32)
    rows = tl.arange(0, 16)
    cols = tl.arange(0, N)
    tl.store(out + rows[:, None] * stride + cols[None, :], tile)


def launch():
    out = torch.empty(16, 96, device="cuda")
    zero_tile[(1,)](out, out.stride(0), 16, 96)  # bug: block-not-power-of-two -> zero_tile[(1,)](out, out.stride(0), 16, 64)
