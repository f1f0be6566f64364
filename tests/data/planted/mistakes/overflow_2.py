import torch
import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, numel, value, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(0) * BLOCK_SIZE  # bug: offset-overflow -> start = tl.program_id(0).to(tl.int64) * BLOCK_SIZE
    offsets = start + tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offsets, value, mask=offsets < numel)


def fill_tensor(t, value):
    numel = t.numel()
    grid = (triton.cdiv(numel, 1024),)
    fill[grid](t, numel, value, BLOCK_SIZE=1024)


def test_large():
    cache = torch.empty((64, 4096, 16, 1024), dtype=torch.int8, device="cuda")
    fill_tensor(cache, 3)
    assert (cache == 3).all()
