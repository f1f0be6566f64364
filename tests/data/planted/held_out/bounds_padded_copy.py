"""An index times the number of columns does not fit int32.

https://github.com/databricks/megablocks/pull/185
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_rows(x, out, columns, B: tl.constexpr):
    row = tl.program_id(0)  # bug -> row = tl.program_id(0).to(tl.int64)
    x += row * columns  # found: launch-overflow|access-leaves-tensor|offset-overflow
    out += row * columns  # found: launch-overflow|access-leaves-tensor|offset-overflow
    for start in range(0, columns, B):
        i = start + tl.arange(0, B)
        value = tl.load(x + i, mask=i < columns)  # found: launch-overflow|access-leaves-tensor|offset-overflow
        tl.store(out + i, value, mask=i < columns)  # found: launch-overflow|access-leaves-tensor|offset-overflow


if __name__ == "__main__":
    x = torch.zeros(530_000, 4096, dtype=torch.float16, device="cuda")
    copy_rows[(530_000,)](x, torch.empty_like(x), 4096, B=1024)
