"""A kernel whose loads become several lines of inline assembly each, for test_machine_locations.py."""

import triton
import triton.language as tl


@triton.jit
def two_loads(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    y = tl.load(y_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * y, mask=offsets < n)
