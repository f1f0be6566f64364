import torch
import triton
import triton.language as tl


@triton.jit
def mask_tokens(x_ptr, seq_len: tl.constexpr, stride, BLOCK: tl.constexpr):  # bug: constexpr-size -> def mask_tokens(x_ptr, seq_len, stride, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + b * stride + t, 0.0, mask=t < seq_len)


def launch(x):
    batch, seq_len = x.shape
    mask_tokens[(batch, triton.cdiv(seq_len, 128))](x, seq_len, x.stride(0), BLOCK=128)
