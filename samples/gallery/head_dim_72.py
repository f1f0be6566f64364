"""Scale attention heads of 72 elements: loads that move 2 bytes at a time, and three remedies.

irscope compile samples/gallery/head_dim_72.py --const BLOCK_M=32 --const BLOCK_D=128 \
    --signature "*fp16:16, *fp16:16, fp32, i32:16, i32, i32" \
    --config REMEDY=none,hint,split,constexpr

Triton's JIT knows of an integer only whether it is 1 and whether 16 divides it. A head of 72
elements is padded to 128, and its stride is a multiple of 8, which counts as any number:
triton-lang/triton#10389.
"""

import triton
import triton.language as tl


@triton.jit
def scale_heads_kernel(
    x_ptr,
    out_ptr,
    scale,
    n_rows,
    head_dim,
    stride,
    BLOCK_M: tl.constexpr,
    BLOCK_D: tl.constexpr,
    REMEDY: tl.constexpr,
):
    if REMEDY == "hint":  # has no effect on an argument of the kernel
        head_dim = tl.multiple_of(head_dim, 8)
        stride = tl.multiple_of(stride, 8)
    elif REMEDY == "split":  # the factor of 8 is in the arithmetic
        head_dim = head_dim // 8 * 8
        stride = stride // 8 * 8
    elif REMEDY == "constexpr":  # as if the launch passed both as tl.constexpr
        head_dim = 72
        stride = 72
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_D)
    mask = (rows < n_rows)[:, None] & (cols < head_dim)[None, :]
    offsets = rows[:, None] * stride + cols[None, :]
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x * scale, mask=mask)


def scale_heads(x, scale, remedy):
    out = x.new_empty(x.shape)
    grid = (triton.cdiv(len(x), 32),)
    scale_heads_kernel[grid](x, out, scale, len(x), 72, x.stride(0), 32, 128, remedy)
    return out


if __name__ == "__main__":
    import torch

    heads = torch.randn(1 << 20, 72, device="cuda", dtype=torch.float16)
    for remedy in ("none", "hint", "split", "constexpr"):
        torch.testing.assert_close(scale_heads(heads, 0.125, remedy), heads * 0.125)
        ms = triton.testing.do_bench(lambda remedy=remedy: scale_heads(heads, 0.125, remedy))
        print(f"{remedy:10} {ms:.3f} ms, {2 * heads.nbytes / ms / 1e6:,.0f} GB/s")
