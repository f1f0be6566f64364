"""Dropout whose generator is called once per four elements: samples/seeded_dropout.py calls it for each."""

import triton
import triton.language as tl


@triton.jit
def dropout_4x_kernel(x_ptr, out_ptr, n, p, seed, BLOCK_SIZE: tl.constexpr):
    quarter: tl.constexpr = BLOCK_SIZE // 4
    calls = tl.program_id(0) * quarter + tl.arange(0, quarter)
    first, second, third, fourth = tl.rand4x(seed, calls)
    # [quarter, 2, 2] in the order of memory: four numbers per call, next to each other.
    numbers = tl.join(tl.join(first, third), tl.join(second, fourth))
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.reshape(numbers, (BLOCK_SIZE,)) >= p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)
