import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows(src, dst, scale, n_elements, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(src + offsets, mask=offsets < n_elements)
    tl.store(dst + offsets, values * scale)  # bug: mask-missing -> tl.store(dst + offsets, values * scale, mask=offsets < n_elements)


def scale(x, factor):
    y = torch.empty_like(x)
    n = x.numel()
    scale_rows[(triton.cdiv(n, 1024),)](x, y, factor, n, BLOCK=1024)
    return y
