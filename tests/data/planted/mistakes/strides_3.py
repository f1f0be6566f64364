import torch
import triton
import triton.language as tl


@triton.jit
def relu_2d(inp, out, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (m < M) & (n < N)
    x = tl.load(inp + m * N + n, mask=mask)
    tl.store(out + m * M + n, tl.maximum(x, 0.0), mask=mask)  # bug: strides-swapped -> tl.store(out + m * N + n, tl.maximum(x, 0.0), mask=mask)


def relu(x: torch.Tensor) -> torch.Tensor:
    M, N = x.shape
    y = torch.empty_like(x)
    relu_2d[(triton.cdiv(M, 16), triton.cdiv(N, 128))](x, y, M, N, BLOCK_M=16, BLOCK_N=128)
    return y
