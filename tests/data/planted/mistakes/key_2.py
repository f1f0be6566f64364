import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024}, num_warps=8)], key=["n_rows"])  # bug: key-missing -> @triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024}, num_warps=8)], key=["n_rows", "HIDDEN"])
@triton.jit
def rms(x, y, n_rows, HIDDEN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = 0.0
    for start in range(0, HIDDEN, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * HIDDEN + at, mask=at < HIDDEN, other=0.0)
        acc += tl.sum(v * v)
    tl.store(y + row, acc)
