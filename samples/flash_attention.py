r"""Attention without the matrix of scores (forward, causal or not), with online softmax.

Keys and values stream past a block of queries. The running maximum and sum of each row are
corrected when larger scores appear. Causal attention runs in two stages: keys entirely before the
block of queries (off-band) need no mask, keys that overlap it (on-band) do. Only the code of the
second stage has a mask, because MASKED is a compile-time constant of the helper.

    irscope compile samples/flash_attention.py::attention_kernel \
        --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16" \
        --const HEAD_DIM=64 --const CAUSAL=True
"""

import math
from typing import TYPE_CHECKING

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch

# BLOCK_N divides BLOCK_M, and BLOCK_M divides 128, so the band starts and ends at a whole block.
CONFIGS = [
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 32}, num_warps=4, num_stages=3),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=4, num_stages=3),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=3),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 128}, num_warps=8, num_stages=2),
]


@triton.jit
def attend(
    acc,
    row_sum,
    row_max,
    q,
    k_ptr,
    v_ptr,
    rows,
    first,
    last,
    scale,
    HEAD_DIM: tl.constexpr,
    BLOCK_N: tl.constexpr,
    MASKED: tl.constexpr,
):
    dims = tl.arange(0, HEAD_DIM)
    for start in range(first, last, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + keys[None, :] * HEAD_DIM + dims[:, None])
        scores = tl.dot(q, k) * scale
        if MASKED:
            scores = tl.where(rows[:, None] >= keys[None, :], scores, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(scores, axis=1))
        correction = tl.exp2(row_max - new_max)
        p = tl.exp2(scores - new_max[:, None])
        row_sum = row_sum * correction + tl.sum(p, axis=1)
        v = tl.load(v_ptr + keys[:, None] * HEAD_DIM + dims[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * correction[:, None])
        row_max = new_max
    return acc, row_sum, row_max


@triton.autotune(CONFIGS, key=["n_ctx", "HEAD_DIM", "CAUSAL"])
@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    scale,
    n_ctx,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    first_row = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1).to(tl.int64) * n_ctx * HEAD_DIM
    rows = first_row + tl.arange(0, BLOCK_M)
    offsets = head + rows[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    q = tl.load(q_ptr + offsets)
    k_ptr += head
    v_ptr += head
    scale *= 1.4426950408889634  # log2(e): exp2 is one instruction, exp is not

    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    row_max = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    off_band = first_row if CAUSAL else n_ctx
    acc, row_sum, row_max = attend(
        acc, row_sum, row_max, q, k_ptr, v_ptr, rows, 0, off_band, scale, HEAD_DIM, BLOCK_N, False
    )
    if CAUSAL:
        acc, row_sum, row_max = attend(
            acc,
            row_sum,
            row_max,
            q,
            k_ptr,
            v_ptr,
            rows,
            first_row,
            first_row + BLOCK_M,
            scale,
            HEAD_DIM,
            BLOCK_N,
            True,
        )
    out = acc / row_sum[:, None]
    tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty))


def attention(
    q: "torch.Tensor", k: "torch.Tensor", v: "torch.Tensor", causal: bool
) -> "torch.Tensor":
    """Attention over contiguous (batch, heads, n_ctx, head_dim) tensors."""
    import torch

    batch, heads, n_ctx, head_dim = q.shape
    if n_ctx % 128:
        raise ValueError(f"n_ctx must be a multiple of 128, not {n_ctx}")
    out = torch.empty_like(q)
    attention_kernel[lambda META: (n_ctx // META["BLOCK_M"], batch * heads)](
        q, k, v, out, 1 / math.sqrt(head_dim), n_ctx, HEAD_DIM=head_dim, CAUSAL=causal
    )
    return out


def main() -> None:
    import torch

    torch.manual_seed(0)
    for n_ctx, head_dim in ((512, 128), (1024, 64)):
        q, k, v = (
            torch.randn((2, 8, n_ctx, head_dim), device="cuda", dtype=torch.float16)
            for _ in range(3)
        )
        future = torch.ones((n_ctx, n_ctx), device="cuda", dtype=torch.bool).triu(1)
        for causal in (False, True):
            scores = q.float() @ k.float().transpose(-1, -2) / math.sqrt(head_dim)
            if causal:
                scores = scores.masked_fill(future, float("-inf"))
            expected = torch.softmax(scores, dim=-1) @ v.float()
            # Compared with fp32, the weights (2^-11 each; they add up to 1, and |v| < 6) and the
            # result are rounded to fp16: at most 2^-11 * 6 * 2 = 6e-3 in total, usually less.
            out = attention(q, k, v, causal)
            torch.testing.assert_close(out.float(), expected, rtol=0, atol=6e-3)
            print(
                f"flash_attention: n_ctx={n_ctx} head_dim={head_dim} causal={causal}:"
                f" close to torch, {attention_kernel.best_config}"
            )


if __name__ == "__main__":
    main()
