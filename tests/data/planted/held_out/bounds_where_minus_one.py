"""Both arms of tl.where are evaluated, so the first element reads before the tensor.

https://github.com/vllm-project/vllm-ascend/issues/16275
"""

import torch
import triton
import triton.language as tl


@triton.jit
def lengths(ends, out, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < N
    start = tl.where(i == 0, 0, tl.load(ends + i - 1, inside))  # bug: access-leaves-tensor -> start = tl.load(ends + i - 1, inside & (i > 0), other=0)
    tl.store(out + i, tl.load(ends + i, inside) - start, mask=inside)


if __name__ == "__main__":
    ends = torch.arange(1, 101, dtype=torch.int32, device="cuda")
    lengths[(2,)](ends, torch.empty_like(ends), 100, B=64)
