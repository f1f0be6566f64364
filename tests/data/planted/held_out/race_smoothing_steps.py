"""Each step of a smoothing reads what neighbors stored in the step before."""

import torch
import triton
import triton.language as tl


@triton.jit
def smooth(grid, steps, B: tl.constexpr):
    i = tl.arange(0, B)
    for _ in range(steps):
        left = tl.load(grid + i)  # found: race-between-threads
        right = tl.load(grid + i + 2)  # found: race-between-threads
        tl.debug_barrier()
        tl.store(grid + i + 1, 0.5 * (left + right))  # found: race-between-threads
        pass  # bug -> tl.debug_barrier()


if __name__ == "__main__":
    smooth[(1,)](torch.randn(514, device="cuda"), 4, B=512)
