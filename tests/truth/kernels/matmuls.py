"""Matrix products: types, split-K, persistent, tensor descriptors, quantized weights, experts."""

import triton
import triton.language as tl
from shared_helpers import row_pointers, silu, swizzled_tile

HOPPER = ("cuda:90", "cuda:100")


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_a,
    stride_b,
    stride_c,
    ACTIVATION: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tile_m, tile_n = swizzled_tile(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, 8)
    rows = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = row_pointers(a_ptr, rows, inner, stride_a)
    b_ptrs = row_pointers(b_ptr, inner, columns, stride_b)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - k * BLOCK_K, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_b
    if ACTIVATION == "silu":
        total = silu(total)
    elif ACTIVATION == "relu":
        total = tl.maximum(total, 0.0)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(row_pointers(c_ptr, rows, columns, stride_c), total.to(tl.float16), mask=inside)


@triton.jit
def split_k_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    SPLIT: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    part = tl.program_id(1)
    across = tl.cdiv(N, BLOCK_N)
    rows = (pid // across) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (pid % across) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(part * BLOCK_K, K, SPLIT * BLOCK_K):
        inner = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=columns[None, :] < N)
        total += tl.dot(a, b)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], total, mask=inside, sem="relaxed")


@triton.jit
def int8_matmul_kernel(a_ptr, b_ptr, c_ptr, scale_ptr, N, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        inner = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + columns[None, :] * K + inner[:, None])
        total = tl.dot(a, b, total, out_dtype=tl.int32)
    scale = tl.load(scale_ptr + columns)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float32) * scale[None, :])


@triton.jit
def fp8_matmul_kernel(a_ptr, b_ptr, c_ptr, N, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K, num_stages=3):
        inner = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + columns[None, :] * K + inner[:, None])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def tf32_matmul_kernel(
    a_ptr, b_ptr, c_ptr, N, K, PRECISION: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        inner = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


@triton.jit
def descriptor_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BLOCK_N, BLOCK_K])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([row, k])
        b = b_desc.load([column, k])
        total = tl.dot(a, b.T, total)
    c_desc.store([row, column], total.to(tl.float16))


@triton.jit
def int4_weight_kernel(
    x_ptr,
    w_ptr,
    scale_ptr,
    out_ptr,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    shifts = (tl.arange(0, BLOCK_K) % 8) * 4
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        inner = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :])
        packed = tl.load(w_ptr + (inner[:, None] // 8) * N + columns[None, :])
        scale = tl.load(scale_ptr + (k // 128) * N + columns)
        w = ((packed >> shifts[:, None]) & 0xF).to(tl.float16) - 8.0
        total = tl.dot(x, (w * scale[None, :]).to(tl.float16), total)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def experts_kernel(
    x_ptr, w_ptr, out_ptr, ids_ptr, expert_ptr, tokens, N, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr
):
    block = tl.program_id(0)
    slots = block * BLOCK + tl.arange(0, BLOCK)
    token = tl.load(ids_ptr + slots)
    valid = token < tokens
    expert = tl.load(expert_ptr + block).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        inner = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + token[:, None] * K + inner[None, :], mask=valid[:, None], other=0.0)
        w = tl.load(w_ptr + expert * N * K + columns[None, :] * K + inner[:, None])
        total = tl.dot(x, w, total)
    tl.store(out_ptr + slots[:, None] * N + columns[None, :], total.to(tl.bfloat16), mask=valid[:, None])


@triton.jit
def persistent_kernel(a_ptr, b_ptr, c_ptr, M, N, K, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    tiles = tl.cdiv(M, BLOCK) * tl.cdiv(N, BLOCK)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=False):
        row, column = swizzled_tile(tile, M, N, BLOCK, BLOCK, 4)
        rows = row * BLOCK + tl.arange(0, BLOCK)
        columns = column * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for k in range(0, K, 32):
            inner = k + tl.arange(0, 32)
            a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :])
            total = tl.dot(a, b, total)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16))


CASES = [
    (
        "matmul_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:16",
        {"ACTIVATION": "silu", "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_stages": 3},
    ),
    (
        "split_k_kernel",
        "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16",
        {"SPLIT": 4, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32},
    ),
    (
        "int8_matmul_kernel",
        "*i8:16, *i8:16, *fp32:16, *fp32:16, i32:16, i32:16",
        {"BLOCK": 64, "BLOCK_K": 64},
    ),
    (
        "fp8_matmul_kernel",
        "*fp8e4nv:16, *fp8e4nv:16, *bf16:16, i32:16, i32:16",
        {"BLOCK": 64, "BLOCK_K": 64},
        HOPPER,
    ),
    (
        "tf32_matmul_kernel",
        "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16",
        {"PRECISION": "tf32", "BLOCK": 64, "BLOCK_K": 32},
        ("cuda:80", "cuda:90", "cuda:100"),
    ),
    (
        "descriptor_matmul_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16",
        {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64},
    ),
    (
        "int4_weight_kernel",
        "*fp16:16, *i32:16, *fp16:16, *fp16:16, i32:16, i32:16",
        {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 64},
    ),
    (
        "experts_kernel",
        "*bf16:16, *bf16:16, *bf16:16, *i32:16, *i32:16, i32, i32:16, i32:16",
        {"BLOCK": 64, "BLOCK_K": 32},
    ),
    (
        "persistent_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16",
        {"PROGRAMS": 132, "BLOCK": 64},
    ),
]
