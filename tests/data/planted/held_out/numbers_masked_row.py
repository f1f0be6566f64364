"""If all keys of a block are masked, the largest score is -inf, and -inf - -inf is NaN.

https://github.com/flashinfer-ai/flashinfer/pull/1178
"""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_sum(scores, out, first, N, B: tl.constexpr):
    row = tl.program_id(0)
    largest = -float("inf")
    total = 0.0
    for start in range(0, N, B):
        i = start + tl.arange(0, B)
        score = tl.load(scores + row * N + i, mask=i < N, other=-float("inf"))
        score = tl.where(i >= first + row, score, -float("inf"))
        new = tl.maximum(largest, tl.max(score, 0))  # bug -> new = tl.maximum(tl.maximum(largest, tl.max(score, 0)), -1e30)
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(score - new), 0)  # found: padding-reduced
        largest = new
    tl.store(out + row, total)


if __name__ == "__main__":
    scores = torch.randn(16, 500, device="cuda")
    attention_sum[(16,)](scores, torch.empty(16, device="cuda"), 200, 500, B=64)
