import torch
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n: tl.constexpr, BLOCK: tl.constexpr):  # bug: constexpr-size -> def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n), 0.0), mask=at < n)


def launch(x):
    y = torch.empty_like(x)
    n = x.numel()
    relu[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
