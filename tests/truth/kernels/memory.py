"""Kernels that mostly move data: transposes, gathers, scatters, convolutions, pooling, early exits."""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tile = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=inside)
    tl.store(
        out_ptr + columns[:, None] * M + rows[None, :],
        tl.trans(tile),
        mask=tl.trans(inside),
    )


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, out_ptr, width, vocabulary, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    index = tl.load(ids_ptr + token)
    known = (index >= 0) & (index < vocabulary)
    for start in range(0, width, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        row = tl.load(table_ptr + index * width + offsets, mask=(offsets < width) & known, other=0.0)
        tl.store(out_ptr + token * width + offsets, row, mask=offsets < width)


@triton.jit
def embedding_backward_kernel(ids_ptr, grad_ptr, table_ptr, width, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    index = tl.load(ids_ptr + token)
    if index < 0:
        return
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < width
    grad = tl.load(grad_ptr + token * width + offsets, mask=inside)
    tl.atomic_add(table_ptr + index * width + offsets, grad.to(tl.float32), mask=inside)


@triton.jit
def causal_conv_kernel(
    x_ptr, weight_ptr, out_ptr, length, channels, TAPS: tl.constexpr, BLOCK: tl.constexpr, C: tl.constexpr
):
    time = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros((BLOCK, C), dtype=tl.float32)
    for tap in tl.static_range(TAPS):
        at = time - (TAPS - 1) + tap
        valid = (at >= 0) & (at < length)
        x = tl.load(x_ptr + at[:, None] * channels + channel[None, :], mask=valid[:, None], other=0.0)
        weight = tl.load(weight_ptr + channel * TAPS + tap)
        total += x * weight[None, :]
    tl.store(out_ptr + time[:, None] * channels + channel[None, :], total, mask=(time < length)[:, None])


@triton.jit
def conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, height, width, channels, filters,
    R: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    pixel = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    y, x = pixel // width, pixel % width
    outputs = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
    total = tl.zeros((BLOCK_P, BLOCK_F), dtype=tl.float32)
    for r in range(R):
        for s in range(R):
            row, column = y + r - R // 2, x + s - R // 2
            valid = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            for c in range(0, channels, BLOCK_C):
                inputs = c + tl.arange(0, BLOCK_C)
                at = (row * width + column)[:, None] * channels + inputs[None, :]
                image = tl.load(x_ptr + at, mask=valid[:, None], other=0.0)
                weights = tl.load(
                    weight_ptr + ((r * R + s) * channels + inputs)[:, None] * filters + outputs[None, :]
                )
                total = tl.dot(image, weights, total)
    tl.store(out_ptr + pixel[:, None] * filters + outputs[None, :], total.to(tl.float16))


@triton.jit
def max_pool_kernel(x_ptr, out_ptr, width, out_width, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < out_width
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for i in tl.static_range(SIZE):
        for j in tl.static_range(SIZE):
            at = (row * SIZE + i) * width + columns * SIZE + j
            best = tl.maximum(best, tl.load(x_ptr + at, mask=inside, other=float("-inf")))
    tl.store(out_ptr + row * out_width + columns, best, mask=inside)


@triton.jit
def clipped(x, low, high):
    return tl.minimum(tl.maximum(x, low), high)


@triton.jit(noinline=True)
def polynomial(x, c0, c1, c2):
    squared = x * x
    return c0 + c1 * x + c2 * squared


@triton.jit
def called_helper_kernel(x_ptr, out_ptr, c0, c1, c2, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    bias = polynomial(tl.load(x_ptr), c0, c1, c2)
    tl.store(out_ptr + offsets, clipped(x + bias, -1.0, 1.0))


@triton.jit
def newton_kernel(x_ptr, out_ptr, n, steps, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=1.0)
    root = x
    step = 0
    largest = 1.0
    while (step < steps) & (largest > 1e-6):
        new = 0.5 * (root + x / root)
        largest = tl.max(tl.abs(new - root))
        root = new
        step += 1
    tl.store(out_ptr + offsets, root, mask=inside)


@triton.jit
def lock_reduce_kernel(x_ptr, sum_ptr, lock_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sum_ptr, tl.load(sum_ptr) + total)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


CASES = [
    ("transpose_kernel", "*fp16:16, *fp16:16, i32:16, i32:16", {"BLOCK": 64}),
    ("embedding_kernel", "*i64:16, *bf16:16, *bf16:16, i32:16, i32", {"BLOCK": 512}),
    ("embedding_backward_kernel", "*i64:16, *bf16:16, *fp32:16, i32:16", {"BLOCK": 512}),
    (
        "causal_conv_kernel",
        "*fp32:16, *fp32:16, *fp32:16, i32, i32:16",
        {"TAPS": 4, "BLOCK": 32, "C": 32},
    ),
    (
        "conv2d_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32:16, i32:16",
        {"R": 3, "BLOCK_P": 64, "BLOCK_F": 32, "BLOCK_C": 32},
    ),
    ("max_pool_kernel", "*fp32:16, *fp32:16, i32:16, i32", {"SIZE": 2, "BLOCK": 256}),
    ("called_helper_kernel", "*fp32:16, *fp32:16, fp32, fp32, fp32", {"BLOCK": 512}),
    ("newton_kernel", "*fp32:16, *fp32:16, i32, i32", {"BLOCK": 256}),
    ("lock_reduce_kernel", "*fp32:16, *fp32:16, *i32:16, i32:16", {"BLOCK": 256}),
]
