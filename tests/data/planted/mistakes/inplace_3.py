import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["seq_len"])
@triton.jit
def rotary(q_ptr, cos_ptr, sin_ptr, seq_len, half, stride, BLOCK: tl.constexpr):
    pos = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    keep = d < half
    base = q_ptr + pos * stride
    lo = tl.load(base + d, mask=keep)
    hi = tl.load(base + half + d, mask=keep)
    c = tl.load(cos_ptr + pos * half + d, mask=keep)
    s = tl.load(sin_ptr + pos * half + d, mask=keep)
    tl.store(base + d, lo * c - hi * s, mask=keep)  # bug: restore-value-missing -> tl.store(cos_ptr + pos + seq_len * half + d, lo * c - hi * s, mask=keep)
