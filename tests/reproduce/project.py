"""A project of two modules, whose kernel calls functions and reads constants of both."""

COMMON = """
import triton
import triton.language as tl

BLOCK = tl.constexpr(2)
DTYPE = tl.float32


@triton.jit
def twice(x):
    return x * BLOCK
"""
KERNELS = """
import common
import triton
import triton.language as tl
from common import twice as double

BLOCK = tl.constexpr(7)


def make(scale):
    @triton.jit
    def scaled_kernel(x_ptr, out_ptr, n, SIZE: tl.constexpr):
        # Names that mean different things in the two modules.
        twice = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        x = tl.load(x_ptr + twice, mask=twice < n).to(common.DTYPE)
        x = double(x) + common.twice(x) + BLOCK * scale + common.BLOCK
        tl.store(out_ptr + twice, x, mask=twice < n)

    return scaled_kernel


kernel = make(tl.constexpr(3))
"""
PROGRAM = """
import torch
from kernels import kernel

x = torch.arange(256, device="cuda", dtype=torch.float32)
out = torch.empty_like(x)
kernel[(2,)](x, out, 256, SIZE=128)
kernel[(1,)](x[1:], x[1:], 255, SIZE=256, num_warps=8)
"""
