"""Kernels for the rules about recorded launches, each in a wrong and a right form, and their TTIR."""

from __future__ import annotations

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

TARGET = GPUTarget("cuda", 90, 32)


@triton.jit
def unmasked(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at), mask=at < n)


@triton.jit
def masked(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def wrapped(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at % n), mask=at < n)


@triton.jit
def row_sums(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        total += tl.sum(tl.load(x_ptr + row * stride + start + tl.arange(0, BLOCK)))
    tl.store(y_ptr + row, total)


@triton.jit
def row_sums_by_pointer(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    pointers = x_ptr + row * stride + tl.arange(0, BLOCK)
    total = 0.0
    for _ in range(0, n, BLOCK):
        total += tl.sum(tl.load(pointers))
        pointers += BLOCK
    tl.store(y_ptr + row, total)


@triton.jit
def tile(x_ptr, stride_0, stride_1, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    tl.store(x_ptr + rows[:, None] * stride_0 + cols[None, :] * stride_1, 0.0)


@triton.jit
def gathered(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at * 16, tl.load(x_ptr + tl.load(y_ptr + at).to(tl.int32)))


@triton.jit
def guarded(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if n % BLOCK == 0:
        tl.store(y_ptr + at, 1.0)
    else:
        tl.store(y_ptr + at, 1.0, mask=at < n)


def ttir(kernel, block):
    """The TTIR of a kernel for float32 tensors and int32 numbers."""
    names = [parameter.name for parameter in kernel.params]
    signature = {name: "*fp32" if name.endswith("_ptr") else "i32" for name in names} | {"BLOCK": "constexpr"}
    source = ASTSource(kernel, signature, {(len(names) - 1,): block})
    backend = make_backend(TARGET)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    implementation = backend.get_codegen_implementation(options)
    module = source.make_ir(TARGET, options, implementation, backend.get_module_map(), context)
    return str(backend.make_ttir(module, {}, options, 90))
