import torch
import triton
import triton.language as tl


@triton.jit
def mean_var(x_ptr, mean_ptr, var_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        part = tl.load(x_ptr + cols, mask=cols < N).to(tl.float32)  # bug: padding-reduced -> part = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        acc += part
    tl.store(mean_ptr + row, tl.sum(acc, axis=0) / N)


def launch(x):
    m = torch.empty(x.shape[0], device=x.device)
    mean_var[(x.shape[0],)](x, m, m, x.stride(0), x.shape[1], BLOCK=1024)
    return m
