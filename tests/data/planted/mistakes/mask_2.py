import torch
import triton
import triton.language as tl


@triton.jit
def row_softmax(out_ptr, in_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + cols, e / tl.sum(e, axis=0))  # bug: mask-missing -> tl.store(out_ptr + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n_cols)


def softmax(x):
    rows, n_cols = x.shape
    y = torch.empty_like(x)
    row_softmax[(rows,)](y, x, x.stride(0), n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return y
