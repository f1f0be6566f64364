import torch
import triton
import triton.language as tl


@triton.jit
def histogram(idx_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    bins = tl.load(idx_ptr + at, mask=keep, other=0)
    slots = counts_ptr + bins
    old = tl.load(slots, mask=keep)
    tl.store(slots, old + 1, mask=keep)  # bug: accumulation-not-atomic -> tl.atomic_add(slots, 1, mask=keep)


def count(idx, n_bins):
    counts = torch.zeros(n_bins, dtype=torch.int32, device=idx.device)
    histogram[(triton.cdiv(idx.numel(), 256),)](idx, counts, idx.numel(), BLOCK=256)
    return counts
