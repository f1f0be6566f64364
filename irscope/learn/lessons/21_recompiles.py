"""A part of a serving stack with a paged KV cache: batches of many sizes go to five kernels."""

import torch
import triton
import triton.language as tl

PAGE = 16


@triton.jit
def slot_kernel(positions_ptr, pages_ptr, slots_ptr, num_tokens, PAGE: tl.constexpr, BLOCK: tl.constexpr):
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = tokens < num_tokens
    position = tl.load(positions_ptr + tokens, mask=mask, other=0)
    page = tl.load(pages_ptr + position // PAGE, mask=mask, other=0)
    tl.store(slots_ptr + tokens, page * PAGE + position % PAGE, mask=mask)


@triton.jit(do_not_specialize=["num_tokens"])
def any_slot_kernel(positions_ptr, pages_ptr, slots_ptr, num_tokens, PAGE: tl.constexpr, BLOCK: tl.constexpr):
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = tokens < num_tokens
    position = tl.load(positions_ptr + tokens, mask=mask, other=0)
    page = tl.load(pages_ptr + position // PAGE, mask=mask, other=0)
    tl.store(slots_ptr + tokens, page * PAGE + position % PAGE, mask=mask)


@triton.jit
def norm_kernel(x_ptr, residual_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < columns
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    if residual_ptr is not None:
        x += tl.load(residual_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x * tl.rsqrt(tl.sum(x * x) / columns + 1e-6), mask=mask)


@triton.jit
def temperature_kernel(logits_ptr, out_ptr, vocabulary, temperature, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < vocabulary
    logits = tl.load(logits_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, logits / temperature, mask=mask)


@triton.jit
def repeated_kernel(tokens_ptr, counts_ptr, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tokens = tl.load(tokens_ptr + offsets, mask=offsets < WINDOW, other=0)
    tl.atomic_add(counts_ptr + tokens, 1, mask=offsets < WINDOW)


def slots(kernel, positions, pages):
    out = torch.empty_like(positions)
    kernel[(triton.cdiv(len(positions), 256),)](positions, pages, out, len(positions), PAGE, BLOCK=256)
    return out


def norm(x, residual):
    out = torch.empty_like(x)
    norm_kernel[(len(x),)](x, residual, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def sample(logits, temperature, window, history):
    scaled, counts = torch.empty_like(logits), torch.zeros_like(logits, dtype=torch.int32)
    size = logits.numel()
    temperature_kernel[(triton.cdiv(size, 1024),)](logits, scaled, size, temperature, BLOCK=1024)
    repeated_kernel[(1,)](history, counts, window, BLOCK=triton.next_power_of_2(window))
    return scaled, counts


def main() -> None:
    pages = torch.arange(512, device="cuda", dtype=torch.int32)
    positions = torch.arange(4096, device="cuda", dtype=torch.int32)
    for kernel in (slot_kernel, any_slot_kernel):
        for tokens in (48, 37, 1, 64, 100, 512, 513, 4096):  # prompts, and a step of decoding
            slots(kernel, positions[:tokens], pages)
    slots(slot_kernel, positions[37:64], pages)  # the rest of a prompt, whose first part is in the cache

    for dtype in (torch.float16, torch.bfloat16):  # two models
        x = torch.zeros(4, 1024, device="cuda", dtype=dtype)
        norm(x, None)  # the first layer has no residual
        norm(x, x)

    logits = torch.zeros(32_000, device="cuda")
    for temperature, window in ((0.7, 100), (1.3, 120), (1, 100), (0.2, 101)):  # as four requests ask for
        sample(logits, temperature, window, positions)


if __name__ == "__main__":
    main()
