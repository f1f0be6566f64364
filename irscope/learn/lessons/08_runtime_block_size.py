"""The block size as a run-time value: one kernel that fails to compile, and two that compile."""

import triton
import triton.language as tl


@triton.jit
def asked_kernel(x_ptr, out_ptr, n, block_size):
    offsets = tl.program_id(0) * block_size + tl.arange(0, block_size)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, tl.exp(x), mask=offsets < n)


@triton.jit
def fixed_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, tl.exp(x), mask=offsets < n)


@triton.jit
def capped_kernel(x_ptr, out_ptr, n, block_size, MAX_BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, MAX_BLOCK_SIZE)
    offsets = tl.program_id(0) * block_size + lanes
    mask = (lanes < block_size) & (offsets < n)
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.exp(x), mask=mask)
