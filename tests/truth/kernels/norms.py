"""Normalizations, softmax and losses, over rows in one block or in a loop."""

import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=inside, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / columns
    scale = tl.rsqrt(mean_square + eps)
    weight = tl.load(weight_ptr + offsets, mask=inside)
    tl.store(out_ptr + row * stride + offsets, x * scale * weight, mask=inside)


@triton.jit
def rms_norm_backward_kernel(
    grad_ptr,
    x_ptr,
    weight_ptr,
    scale_ptr,
    out_ptr,
    partial_ptr,
    columns,
    rows,
    rows_per_program,
    BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    grad_weight = tl.zeros((BLOCK,), dtype=tl.float32)
    first = program * rows_per_program
    for row in range(first, min(first + rows_per_program, rows)):
        grad = tl.load(grad_ptr + row * columns + offsets, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0).to(tl.float32)
        scale = tl.load(scale_ptr + row)
        normalized = x * scale
        weighted = grad * weight
        projected = tl.sum(weighted * normalized, axis=0) / columns
        grad_weight += grad * normalized
        tl.store(
            out_ptr + row * columns + offsets,
            scale * (weighted - normalized * projected),
            mask=inside,
        )
    tl.store(partial_ptr + program * columns + offsets, grad_weight, mask=inside)


@triton.jit
def combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    delta = mean_b - mean_a
    n = n_a + n_b
    share = tl.where(n == 0, 0.0, n_b / n)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def welford_layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    mean = tl.zeros((BLOCK,), dtype=tl.float32)
    m2 = tl.zeros((BLOCK,), dtype=tl.float32)
    count = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < columns
        x = tl.load(x_ptr + row + offsets, mask=inside, other=0.0).to(tl.float32)
        count += inside.to(tl.float32)
        delta = x - mean
        mean += tl.where(inside, delta / tl.maximum(count, 1.0), 0.0)
        m2 += tl.where(inside, delta * (x - mean), 0.0)
    mean_all, m2_all, n = tl.reduce((mean, m2, count), 0, combine)
    scale = tl.rsqrt(m2_all / n + eps)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < columns
        x = tl.load(x_ptr + row + offsets, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=inside)
        bias = tl.load(bias_ptr + offsets, mask=inside)
        tl.store(out_ptr + row + offsets, (x - mean_all) * scale * weight + bias, mask=inside)


@triton.jit
def group_norm_kernel(
    x_ptr, out_ptr, channels, pixels, eps, CHANNELS_PER_GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    group = tl.program_id(0)
    channel = tl.arange(0, CHANNELS_PER_GROUP)[:, None]
    total = 0.0
    squares = 0.0
    base = group * CHANNELS_PER_GROUP * pixels
    for start in tl.range(0, pixels, BLOCK):
        pixel = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + base + channel * pixels + pixel, mask=pixel < pixels, other=0.0)
        total += tl.sum(x)
        squares += tl.sum(x * x)
    number = CHANNELS_PER_GROUP * pixels
    mean = total / number
    scale = tl.rsqrt(squares / number - mean * mean + eps)
    for start in tl.range(0, pixels, BLOCK):
        pixel = start + tl.arange(0, BLOCK)[None, :]
        at = base + channel * pixels + pixel
        x = tl.load(x_ptr + at, mask=pixel < pixels, other=0.0)
        tl.store(out_ptr + at, (x - mean) * scale, mask=pixel < pixels)


@triton.jit
def online_softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    largest = tl.full((), float("-inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=float("-inf")).to(tl.float32)
        new = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new), axis=0)
        largest = new
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + row + offsets, tl.exp(x - largest) / total, mask=offsets < columns)


@triton.jit
def cross_entropy_kernel(logits_ptr, labels_ptr, loss_ptr, columns, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    if label == ignored:
        tl.store(loss_ptr + row, 0.0)
        return
    largest = float("-inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * columns + offsets, mask=offsets < columns, other=float("-inf"))
        new = tl.maximum(largest, tl.max(x))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new))
        largest = new
    chosen = tl.load(logits_ptr + row * columns + label)
    tl.store(loss_ptr + row, tl.log(total) + largest - chosen)


@triton.jit
def cross_entropy_backward_kernel(logits_ptr, labels_ptr, lse_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(labels_ptr + row)
    lse = tl.load(lse_ptr + row)
    inside = offsets < columns
    x = tl.load(logits_ptr + row * columns + offsets, mask=inside, other=0.0).to(tl.float32)
    probability = tl.exp(x - lse)
    grad = tl.where(offsets == label, probability - 1.0, probability)
    tl.store(logits_ptr + row * columns + offsets, grad, mask=inside)


CASES = [
    ("rms_norm_kernel", "*bf16:16, *bf16:16, *bf16:16, i32:16, i32, fp32", {"BLOCK": 1024}),
    (
        "rms_norm_backward_kernel",
        "*bf16:16, *bf16:16, *bf16:16, *fp32:16, *bf16:16, *fp32:16, i32:16, i32, i32",
        {"BLOCK": 1024},
    ),
    ("welford_layer_norm_kernel", "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, fp32", {"BLOCK": 512}),
    ("group_norm_kernel", "*fp32:16, *fp32:16, i32, i32:16, fp32", {"CHANNELS_PER_GROUP": 4, "BLOCK": 256}),
    ("online_softmax_kernel", "*fp16:16, *fp16:16, i32:16", {"BLOCK": 1024}),
    ("cross_entropy_kernel", "*fp32:16, *i64:16, *fp32:16, i32:16, i32", {"BLOCK": 1024}),
    ("cross_entropy_backward_kernel", "*bf16:16, *i64:16, *fp32:16, i32", {"BLOCK": 1024}),
]
