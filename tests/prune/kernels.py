"""Kernels that the tests tune."""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(y + offsets, tl.load(x + offsets, mask=inside) + 1, mask=inside)


@triton.jit
def product_kernel(a, b, c, SIZE: tl.constexpr, DEEP: tl.constexpr):
    rows, columns, inner = tl.arange(0, SIZE), tl.arange(0, SIZE), tl.arange(0, DEEP)
    left = tl.load(a + rows[:, None] * DEEP + inner[None, :])
    right = tl.load(b + inner[:, None] * SIZE + columns[None, :])
    tl.store(c + rows[:, None] * SIZE + columns[None, :], tl.dot(left, right))


@triton.jit
def asserting_kernel(x, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK < 128)
    tl.store(x + tl.arange(0, BLOCK), 0)


@triton.jit
def wrong_kernel(x, BLOCK: tl.constexpr):
    if BLOCK > 64:
        missing_name(x)  # noqa: F821 - the error is what is tested
    tl.store(x + tl.arange(0, BLOCK), 0)


@triton.heuristics({"BLOCK": lambda args: 64 if args["n"] < 1000 else 128})
@triton.jit
def heuristic_kernel(x, n, BLOCK: tl.constexpr, STEP: tl.constexpr):
    offsets = tl.arange(0, BLOCK) * STEP
    tl.store(x + offsets, 0, mask=offsets < n)


@triton.jit
def descriptor_kernel(source, target, BLOCK: tl.constexpr):
    tile = source.load([tl.program_id(0) * BLOCK, 0])
    tl.store(target + tl.arange(0, BLOCK), tl.max(tile, 1))


@triton.jit
def threads_kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.extra.cuda.num_threads())
