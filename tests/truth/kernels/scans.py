"""Scans, sorts, searches, histograms and other collective operations."""

import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    carry = 0.0
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=0.0)
        running = tl.cumsum(x, axis=0) + carry
        carry += tl.sum(x)
        tl.store(out_ptr + row + offsets, running, mask=offsets < columns)


@triton.jit
def linear_step(a_left, b_left, a_right, b_right):
    return a_left * a_right, a_right * b_left + b_right


@triton.jit
def recurrence_kernel(gate_ptr, x_ptr, out_ptr, length, T: tl.constexpr, D: tl.constexpr):
    channel = tl.program_id(0) * D + tl.arange(0, D)[None, :]
    time = tl.arange(0, T)[:, None]
    at = time * length + channel
    gate = tl.load(gate_ptr + at)
    x = tl.load(x_ptr + at)
    _, states = tl.associative_scan((gate, x), 0, linear_step)
    tl.store(out_ptr + at, states)


@triton.jit
def sort_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.sort(x, descending=True))


@triton.jit
def histogram_kernel(x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    counts = tl.histogram(x, BINS)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), counts)


@triton.jit
def argmax_kernel(x_ptr, value_ptr, index_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=float("-inf"))
    value, index = tl.max(x, axis=0, return_indices=True)
    tl.store(value_ptr + row, value)
    tl.store(index_ptr + row, index)


@triton.jit
def larger(value_a, index_a, value_b, index_b):
    first = (value_a > value_b) | ((value_a == value_b) & (index_a < index_b))
    return tl.where(first, value_a, value_b), tl.where(first, index_a, index_b)


@triton.jit
def top_kernel(x_ptr, value_ptr, index_ptr, columns, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=float("-inf"))
    for rank in tl.static_range(K):
        value, index = tl.reduce((x, offsets), 0, larger)
        tl.store(value_ptr + row * K + rank, value)
        tl.store(index_ptr + row * K + rank, index)
        x = tl.where(offsets == index, float("-inf"), x)


@triton.jit
def compact_kernel(x_ptr, out_ptr, count_ptr, n, threshold, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    kept = (x > threshold).to(tl.int32)
    place = tl.cumsum(kept, 0) - kept
    number = tl.sum(kept, 0)
    first = tl.atomic_add(count_ptr, number)
    tl.store(out_ptr + first + place, x, mask=kept != 0)


@triton.jit
def bisect_kernel(sorted_ptr, queries_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    query = tl.load(queries_ptr + offsets)
    low = tl.zeros((BLOCK,), dtype=tl.int32)
    high = low + n
    remaining = n
    while remaining > 0:
        middle = (low + high) // 2
        value = tl.load(sorted_ptr + middle, mask=middle < n, other=float("inf"))
        below = value < query
        low = tl.where(below & (low < high), middle + 1, low)
        high = tl.where(below | (low >= high), high, middle)
        remaining = remaining // 2
    tl.store(out_ptr + offsets, low)


@triton.jit
def state_space_kernel(x_ptr, a_ptr, b_ptr, c_ptr, out_ptr, length, D: tl.constexpr, S: tl.constexpr):
    channel = tl.program_id(0) * D + tl.arange(0, D)
    order = tl.arange(0, S)
    a = -tl.exp(tl.load(a_ptr + channel[:, None] * S + order[None, :]))
    state = tl.zeros((D, S), dtype=tl.float32)
    for t in range(length):
        x = tl.load(x_ptr + t * D + channel)
        b = tl.load(b_ptr + t * S + order)
        c = tl.load(c_ptr + t * S + order)
        state = state * tl.exp(a) + x[:, None] * b[None, :]
        tl.store(out_ptr + t * D + channel, tl.sum(state * c[None, :], 1))


CASES = [
    ("cumsum_kernel", "*fp32:16, *fp32:16, i32:16", {"BLOCK": 512}),
    ("recurrence_kernel", "*fp32:16, *fp32:16, *fp32:16, i32:16", {"T": 64, "D": 16}),
    ("sort_kernel", "*fp32:16, *fp32:16", {"BLOCK": 256}),
    ("histogram_kernel", "*i32:16, *i32:16, i32", {"BINS": 64, "BLOCK": 512}),
    ("argmax_kernel", "*fp32:16, *fp32:16, *i32:16, i32", {"BLOCK": 1024}),
    ("top_kernel", "*fp32:16, *fp32:16, *i32:16, i32", {"K": 4, "BLOCK": 512}),
    ("compact_kernel", "*fp32:16, *fp32:16, *i32:16, i32, fp32", {"BLOCK": 512}),
    ("bisect_kernel", "*fp32:16, *fp32:16, *i32:16, i32", {"BLOCK": 128}),
    ("state_space_kernel", "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32", {"D": 32, "S": 16}),
]
