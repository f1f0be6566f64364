"""Kernels that compile, with every feature that a request can use."""

import triton
import triton.language as tl


@triton.jit
def scaled(x, factor: tl.constexpr):
    return x * factor


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128) for w in (2, 4)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["BLOCK"] >= 128})
@triton.jit
def scale(x_ptr, n, alpha, BLOCK: tl.constexpr, EVEN: tl.constexpr, FACTOR: tl.constexpr = 2):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x_ptr + offsets, scaled(tl.load(x_ptr + offsets), FACTOR) * alpha)
    else:
        mask = offsets < n
        tl.store(x_ptr + offsets, scaled(tl.load(x_ptr + offsets, mask=mask), FACTOR) * alpha, mask=mask)


@triton.jit
def typed(x_ptr, MODE: tl.constexpr, TYPE: tl.constexpr, MAYBE: tl.constexpr, ON: tl.constexpr):
    tl.static_assert(MODE == "ieee")
    tl.static_assert(MAYBE is None)
    value = tl.load(x_ptr).to(TYPE)
    if ON:
        tl.store(x_ptr, value.to(tl.float32))


@triton.jit(do_not_specialize=["n"])
def unspecialized(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def looped(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(n):
        total += tl.exp(total)
    tl.store(x_ptr + offsets, total)


if __name__ == "__main__":
    raise AssertionError("the __main__ part must not run")
