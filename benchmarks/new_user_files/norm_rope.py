import torch
import triton
import triton.language as tl

configs = [
    triton.Config({"BLOCK_T": t, "BLOCK_D": 128}, num_warps=w, num_stages=s)
    for t in (4, 16, 64, 256)
    for w in (1, 4, 8)
    for s in (2,)
]


@triton.autotune(configs=configs, key=["T", "D"])
@triton.jit
def rmsnorm_rope_kernel(
    q_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    out_ptr,
    T,
    D,
    stride_qt,
    stride_qh,
    eps,
    BLOCK_T: tl.constexpr,
    BLOCK_D: tl.constexpr,
    HALF: tl.constexpr = 64,
):
    """RMS norm over the head dimension, then rotary embedding, for one head."""
    rows = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    head = tl.program_id(1)
    cols = tl.arange(0, BLOCK_D)
    partner = tl.where(cols < HALF, cols + HALF, cols - HALF)
    base = q_ptr + rows[:, None] * stride_qt + head * stride_qh
    mask = (rows[:, None] < T) & (cols[None, :] < D)
    x = tl.load(base + cols[None, :], mask=mask, other=0.0).to(tl.float32)
    y = tl.load(base + partner[None, :], mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / D + eps)[:, None]
    w = tl.load(weight_ptr + cols, mask=cols < D)[None, :].to(tl.float32)
    wp = tl.load(weight_ptr + partner, mask=cols < D)[None, :].to(tl.float32)
    cos = tl.load(cos_ptr + rows[:, None] * HALF + (cols % HALF)[None, :], mask=mask)
    sin = tl.load(sin_ptr + rows[:, None] * HALF + (cols % HALF)[None, :], mask=mask)
    sign = tl.where(cols < HALF, -1.0, 1.0)[None, :]
    out = x * scale * w * cos + sign * y * scale * wp * sin
    tl.store(
        out_ptr + rows[:, None] * stride_qt + head * stride_qh + cols[None, :], out.to(tl.bfloat16), mask=mask
    )


def norm_rope(q, weight, cos, sin, eps=1e-6):
    T, H, D = q.shape
    out = torch.empty_like(q)
    grid = lambda meta: (triton.cdiv(T, meta["BLOCK_T"]), H)
    rmsnorm_rope_kernel[grid](q, weight, cos, sin, out, T, D, q.stride(0), q.stride(1), eps)
    return out


if __name__ == "__main__":
    q = torch.randn(4096, 32, 128, device="cuda", dtype=torch.bfloat16)
    w = torch.ones(128, device="cuda", dtype=torch.bfloat16)
    cos = torch.randn(4096, 64, device="cuda")
    sin = torch.randn(4096, 64, device="cuda")
    print(norm_rope(q, w, cos, sin).shape)
