import torch
import triton
import triton.language as tl


@triton.jit
def copy_rows(src, dst, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    keep = cols < n_cols
    x = tl.load(src + row * stride + cols, mask=keep)  # bug: offset-overflow -> x = tl.load(src + row.to(tl.int64) * stride + cols, mask=keep)
    tl.store(dst + row.to(tl.int64) * stride + cols, x, mask=keep)


def main():
    x = torch.randn(100_000, 32_000, dtype=torch.float16, device="cuda")
    y = torch.empty_like(x)
    copy_rows[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=32768)
