"""Elementwise kernels: activations, quantization, dropout, rotary embedding, inline assembly."""

import triton
import triton.language as tl
from shared_helpers import sigmoid, silu

NVIDIA = ("cuda:80", "cuda:90", "cuda:100")
FP8 = ("cuda:90", "cuda:100")


@triton.jit
def add_relu_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(a_ptr + offsets, mask=inside) + tl.load(b_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, tl.maximum(total, 0.0), mask=inside)


@triton.jit
def tanh(x):
    return 2 * sigmoid(2 * x) - 1


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    cube = 0.044715 * x * x * x
    gelu = 0.5 * x * (1 + tanh(0.79788456 * (x + cube)))
    tl.store(out_ptr + offsets, gelu, mask=inside)


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * stride + offsets, mask=inside, other=0).to(tl.float32)
    up = tl.load(up_ptr + row * stride + offsets, mask=inside, other=0)
    tl.store(
        out_ptr + row * stride + offsets,
        silu(gate).to(up.dtype) * up,
        mask=inside,
    )


@triton.jit
def swiglu_backward_kernel(grad_ptr, gate_ptr, up_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    grad = tl.load(grad_ptr + row + offsets, mask=inside, other=0)
    gate = tl.load(gate_ptr + row + offsets, mask=inside, other=0).to(tl.float32)
    up = tl.load(up_ptr + row + offsets, mask=inside, other=0)
    s = sigmoid(gate)
    activated = gate * s
    grad_gate = grad * (activated * (1 - s) + s) * up
    tl.store(gate_ptr + row + offsets, grad_gate, mask=inside)
    tl.store(up_ptr + row + offsets, grad * activated, mask=inside)


@triton.jit
def quantize_rows_kernel(x_ptr, out_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(x), axis=0)
    scale = tl.maximum(largest, 1e-10) / 127.0
    rounded = tl.floor(x / scale + 0.5)
    tl.store(out_ptr + row * columns + offsets, rounded.to(tl.int8), mask=inside)
    tl.store(scale_ptr + row, scale)


@triton.jit
def dequantize_fp8_kernel(x_ptr, scale_ptr, out_ptr, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < columns
        x = tl.load(x_ptr + row * columns + offsets, mask=inside)
        scale = tl.load(scale_ptr + row * (columns // GROUP) + offsets // GROUP, mask=inside)
        tl.store(out_ptr + row * columns + offsets, x.to(tl.float32) * scale, mask=inside)


@triton.jit
def keep_mask(seed, offsets, p):
    random = tl.rand(seed, offsets)
    return random > p


@triton.jit
def bias_dropout_kernel(x_ptr, bias_ptr, out_ptr, n, columns, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    bias = tl.load(bias_ptr + offsets % columns, mask=inside)
    kept = tl.where(keep_mask(seed, offsets, p), (x + bias) / (1 - p), 0.0)
    tl.store(out_ptr + offsets, kept, mask=inside)


@triton.jit
def rotary_kernel(q_ptr, cos_ptr, sin_ptr, heads, stride, HALF: tl.constexpr, HEADS: tl.constexpr):
    token = tl.program_id(0)
    columns = tl.arange(0, HALF)
    head = tl.arange(0, HEADS)
    cos = tl.load(cos_ptr + token * HALF + columns)[None, :]
    sin = tl.load(sin_ptr + token * HALF + columns)[None, :]
    offsets = token * stride + head[:, None] * (2 * HALF) + columns[None, :]
    valid = (head < heads)[:, None]
    first = tl.load(q_ptr + offsets, mask=valid, other=0.0)
    second = tl.load(q_ptr + offsets + HALF, mask=valid, other=0.0)
    tl.store(q_ptr + offsets, first * cos - second * sin, mask=valid)
    tl.store(q_ptr + offsets + HALF, second * cos + first * sin, mask=valid)


@triton.jit
def inline_assembly_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    fast = tl.inline_asm_elementwise(
        "{ .reg .f32 t; mul.f32 t, $1, 0f3FB8AA3B; ex2.approx.f32 $0, t; }",
        "=f,f",
        [x],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )
    tl.store(out_ptr + offsets, fast, mask=inside)


@triton.jit
def interleave_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    pairs = tl.join(x, y)
    low, high = tl.split(pairs)
    both = tl.interleave(low + high, low - high)
    tl.store(out_ptr + pid * 2 * BLOCK + tl.arange(0, 2 * BLOCK), both)


CASES = [
    ("add_relu_kernel", "*fp16:16, *fp16:16, *fp16:16, i32:16", {"BLOCK": 1024}),
    ("gelu_kernel", "*bf16:16, *bf16:16, i32", {"BLOCK": 512, "num_warps": 2}),
    ("swiglu_kernel", "*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16", {"BLOCK": 1024}),
    ("swiglu_backward_kernel", "*bf16:16, *bf16:16, *bf16:16, i32:16, i32", {"BLOCK": 1024}),
    ("quantize_rows_kernel", "*fp16:16, *i8:16, *fp32:16, i32:16", {"BLOCK": 2048, "num_warps": 8}),
    ("dequantize_fp8_kernel", "*fp8e4nv:16, *fp32:16, *bf16:16, i32:16", {"GROUP": 128, "BLOCK": 512}, FP8),
    ("bias_dropout_kernel", "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, fp32, i32", {"BLOCK": 512}),
    ("rotary_kernel", "*fp16:16, *fp32:16, *fp32:16, i32, i32:16", {"HALF": 32, "HEADS": 16}),
    ("inline_assembly_kernel", "*fp32:16, *fp32:16, i32:16", {"BLOCK": 512}, NVIDIA),
    ("interleave_kernel", "*fp32:16, *fp32:16, *fp32:16", {"BLOCK": 512}),
]
