"""The mask compares the head of a block with the number of all heads.

https://github.com/NVIDIA/Megatron-LM/issues/7103
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rope(q, out, heads, D: tl.constexpr, BH: tl.constexpr):
    token, block = tl.program_id(0), tl.program_id(1)
    q += (token * heads + block * BH) * D
    out += (token * heads + block * BH) * D
    h = tl.arange(0, BH)[:, None]
    d = tl.arange(0, D)[None, :]
    inside = h < heads  # bug -> inside = block * BH + h < heads
    value = tl.load(q + h * D + d, mask=inside)  # found: access-leaves-tensor|out-of-bounds|race-between-programs
    tl.store(out + h * D + d, value * 2, mask=inside)  # found: access-leaves-tensor|out-of-bounds|race-between-programs


if __name__ == "__main__":
    q = torch.randn(16, 12, 64, device="cuda")
    rope[(16, 2)](q, torch.empty_like(q), 12, D=64, BH=8)
