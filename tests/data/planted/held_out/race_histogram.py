"""A histogram is counted by loads and stores."""

import torch
import triton
import triton.language as tl


@triton.jit
def histogram(counts, N, B: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, B)
    bins = i % BINS
    one = tl.where(i < N, 1, 0)
    tl.store(counts + bins, tl.load(counts + bins) + one * i)  # bug: race-between-threads -> tl.atomic_add(counts + bins, one * i)


if __name__ == "__main__":
    histogram[(1,)](torch.zeros(16, dtype=torch.int32, device="cuda"), 500, B=512, BINS=16)
