import triton
import triton.language as tl


@triton.jit
def count_kernel(tokens_ptr, counts_ptr, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tokens = tl.load(tokens_ptr + offsets, mask=offsets < WINDOW, other=0)
    tl.atomic_add(counts_ptr + tokens, 1, mask=offsets < WINDOW)
