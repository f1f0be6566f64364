import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(src, dst, rows, cols, src_s0, src_s1, dst_s0, dst_s1, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    keep = (i < rows)[:, None] & (j < cols)[None, :]
    tile = tl.load(src + i[:, None] * src_s0 + j[None, :] * src_s1, mask=keep)
    tl.store(dst + j[None, :] * dst_s0 + i[:, None] * dst_s1, tile, mask=keep)


def transpose(x):
    rows, cols = x.shape
    out = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(rows, 32), triton.cdiv(cols, 32))
    transpose_kernel[grid](x, out, rows, cols, x.stride(1), x.stride(0), out.stride(0), out.stride(1), B=32)  # bug: strides-swapped -> transpose_kernel[grid](x, out, rows, cols, x.stride(0), x.stride(1), out.stride(0), out.stride(1), B=32)
    return out
