"""PTX whose registers AMD's GPUs do not have.
target: hip:gfx950

https://github.com/state-spaces/mamba/issues/1018
"""

import torch
import triton
import triton.language as tl


@triton.jit
def cosine(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i)
    near = tl.inline_asm_elementwise("cos.approx.f32 $0, $1;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1)  # bug: inline-assembly-lost -> near = tl.cos(value)
    tl.store(out + i, near)


if __name__ == "__main__":
    x = torch.randn(1024, device="cuda")
    cosine[(4,)](x, torch.empty_like(x), B=256)
