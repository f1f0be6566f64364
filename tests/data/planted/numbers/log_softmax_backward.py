import torch
import triton
import triton.language as tl


# After flagos-ai/FlagGems#3716.
@triton.jit
def log_softmax_backward(out_ptr, dout_ptr, din_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m_offset = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n_offset = tl.arange(0, BLOCK_N)
    offsets = m_offset[:, None] * N + n_offset[None, :]
    mask = (m_offset[:, None] < M) & (n_offset[None, :] < N)
    out = tl.load(out_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + offsets, mask=mask).to(tl.float32)  # bug: padding-reduced -> dout = tl.load(dout_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.sum(dout, 1)
    tl.store(din_ptr + offsets, dout - tl.exp(out) * scale[:, None], mask=mask)
