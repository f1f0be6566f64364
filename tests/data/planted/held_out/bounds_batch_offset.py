"""The offset of the last matrices of a batch does not fit int32.

https://github.com/microsoft/dion/pull/103
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, factor, batch_stride, M, N, B: tl.constexpr):
    batch = tl.program_id(1)  # bug -> batch = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0)
    i = tl.arange(0, B)
    at = x + batch * batch_stride + row * N + i  # found: launch-overflow|access-leaves-tensor|offset-overflow
    value = tl.load(at, mask=i < N)  # found: launch-overflow|access-leaves-tensor|offset-overflow
    tl.store(at, value * factor, mask=i < N)  # found: launch-overflow|access-leaves-tensor|offset-overflow


if __name__ == "__main__":
    x = torch.zeros(320, 2560, 3072, dtype=torch.bfloat16, device="cuda")
    scale[(2560, 320)](x, 2.0, x.stride(0), 2560, 3072, B=4096)
