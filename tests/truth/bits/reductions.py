"""Reduces: sums, extremes with NaN, positions, xor, moments, and functions of its own."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.bits.space import Arguments, Data, Space, cdiv, product, unfused


@triton.jit
def row_sums(x, o, columns, RB: tl.constexpr, B: tl.constexpr, KEEP: tl.constexpr):
    """Adds each row, in 32 bits or in the type of the elements."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.arange(0, B)
    values = tl.load(x + row[:, None] * columns + column[None, :], mask=column[None, :] < columns, other=0.0)
    if KEEP:
        tl.store(o + row, tl.sum(values, 1, dtype=values.dtype).to(tl.float32))
    else:
        tl.store(o + row, tl.sum(values.to(tl.float32), 1))


@triton.jit
def column_sums(x, o, rows, columns, RB: tl.constexpr, CB: tl.constexpr):
    """Adds each column, a block of rows after another."""
    column = tl.program_id(0) * CB + tl.arange(0, CB)
    total = tl.zeros((CB,), tl.float32)
    for start in range(0, rows, RB):
        row = start + tl.arange(0, RB)
        total += tl.sum(
            tl.load(x + row[:, None] * columns + column[None, :], mask=row[:, None] < rows, other=0.0), 0
        )
    tl.store(o + column, total)


@triton.jit
def middle_sums(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, TWICE: tl.constexpr):
    """Adds over the middle of three axes, and over two of them."""
    i, j, k = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    first = tl.program_id(0) * A
    values = tl.load(x + (first + i)[:, None, None] * B * C + j[None, :, None] * C + k[None, None, :])
    sums = tl.sum(values, 1)
    if TWICE:
        tl.store(o + first + i, tl.sum(sums, 1))
    else:
        tl.store(o + (first + i)[:, None] * C + k[None, :], sums)


@triton.jit
def whole_sum(x, o, n, B: tl.constexpr, ROWS: tl.constexpr):
    """Adds a block of one or two axes to a single number."""
    if ROWS == 1:
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(o + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0)))
    else:
        i = (
            tl.program_id(0) * B
            + tl.arange(0, ROWS)[:, None] * (B // ROWS)
            + tl.arange(0, B // ROWS)[None, :]
        )
        tl.store(o + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


@triton.jit
def propagating_max(a, b):
    """Returns the larger one, or NaN."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def extremes(
    x,
    most,
    least,
    nan,
    where_most,
    where_least,
    columns,
    RB: tl.constexpr,
    B: tl.constexpr,
    LEFT: tl.constexpr,
):
    """Finds the largest and smallest elements among NaN and zeros of both signs, and where they are."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.arange(0, B)
    values = tl.load(x + row[:, None] * columns + column[None, :])
    tl.store(most + row, tl.max(values, 1))
    tl.store(least + row, tl.min(values, 1))
    tl.store(nan + row, tl.reduce(values, 1, propagating_max))
    tl.store(where_most + row, tl.argmax(values, 1, tie_break_left=LEFT))
    tl.store(where_least + row, tl.argmin(values, 1, tie_break_left=LEFT))


@triton.jit
def integer_reductions(x, total, xor, either, most, columns, RB: tl.constexpr, B: tl.constexpr):
    """Reduces integers, where no order matters."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.arange(0, B)
    values = tl.load(x + row[:, None] * columns + column[None, :])
    tl.store(total + row, tl.sum(values, 1))
    tl.store(xor + row, tl.xor_sum(values, 1))
    tl.store(either + row, tl.reduce_or(values, 1))
    tl.store(most + row, tl.max(values, 1))


@triton.jit
def joined_moments(mean_a, squares_a, weight_a, mean_b, squares_b, weight_b):
    """Joins mean, sum of squared differences and number of two sets."""
    difference = mean_b - mean_a
    weight = weight_a + weight_b
    part = tl.where(weight == 0.0, 0.0, weight_b / weight)
    mean = mean_a + difference * part
    return mean, squares_a + squares_b + difference * difference * weight_a * part, weight


@triton.jit
def welford(x, mean_out, variance_out, columns, B: tl.constexpr):
    """Computes mean and variance of rows, element by element per thread and then over threads."""
    row = tl.program_id(0)
    mean = tl.zeros((B,), tl.float32)
    squares = tl.zeros((B,), tl.float32)
    weight = tl.zeros((B,), tl.float32)
    for start in range(0, columns, B):
        column = start + tl.arange(0, B)
        inside = column < columns
        value = tl.load(x + row * columns + column, mask=inside, other=0.0)
        weight_new = tl.where(inside, weight + 1.0, weight)
        difference = tl.where(inside, value - mean, 0.0)
        mean += difference / tl.maximum(weight_new, 1.0)
        squares += difference * tl.where(inside, value - mean, 0.0)
        weight = weight_new
    mean, squares, weight = tl.reduce((mean, squares, weight), 0, joined_moments)
    tl.store(mean_out + row, mean)
    tl.store(variance_out + row, squares / weight)


@triton.jit
def joined_softmax(most_a, sum_a, most_b, sum_b):
    """Joins the maxima and sums of exponentials of two sets."""
    most = tl.maximum(most_a, most_b)
    return most, sum_a * tl.exp(most_a - most) + sum_b * tl.exp(most_b - most)


@triton.jit
def log_sum_exp(x, o, columns, RB: tl.constexpr, B: tl.constexpr):
    """Computes log(sum(exp)) by one reduction of pairs."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.arange(0, B)
    values = tl.load(x + row[:, None] * columns + column[None, :])
    most, total = tl.reduce((values, values * 0.0 + 1.0), 1, joined_softmax)
    tl.store(o + row, most + tl.log(total))


@triton.jit
def times(a, b):
    """Returns the product."""
    return a * b


@triton.jit
def row_products(x, o, columns, RB: tl.constexpr, B: tl.constexpr):
    """Multiplies the elements of each row."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.arange(0, B)
    values = tl.load(x + row[:, None] * columns + column[None, :])
    tl.store(o + row, tl.reduce(values, 1, times))


@triton.jit
def dot_rows(x, y, o, columns, B: tl.constexpr, MODE: tl.constexpr):
    """Multiplies two rows and adds the products: at once, or block after block."""
    row = tl.program_id(0)
    column = tl.arange(0, B)
    if MODE == 0:
        total = 0.0
        for start in range(0, columns, B):
            place = row * columns + start + column
            total += tl.sum(tl.load(x + place) * tl.load(y + place))
        tl.store(o + row, total)
    else:
        sums = tl.zeros((B,), tl.float32)
        for start in range(0, columns, B):
            place = row * columns + start + column
            sums += tl.load(x + place) * tl.load(y + place)
        tl.store(o + row, tl.sum(sums))


@triton.jit
def norms(x, one, two, most, columns, RB: tl.constexpr, B: tl.constexpr):
    """Computes three norms of each row of bf16."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.arange(0, B)
    values = tl.load(x + row[:, None] * columns + column[None, :]).to(tl.float32)
    tl.store(one + row, tl.sum(tl.abs(values), 1))
    tl.store(two + row, tl.sqrt(tl.sum(values * values, 1)))
    tl.store(most + row, tl.max(tl.abs(values), 1))


@triton.jit
def jagged_sums(x, offsets, o, columns, RB: tl.constexpr, CB: tl.constexpr):
    """Adds the rows of each segment, whose length the data say."""
    segment = tl.program_id(0)
    column = tl.program_id(1) * CB + tl.arange(0, CB)
    first, last = tl.load(offsets + segment), tl.load(offsets + segment + 1)
    total = tl.zeros((CB,), tl.float32)
    for start in range(first, last, RB):
        row = start + tl.arange(0, RB)
        total += tl.sum(
            tl.load(x + row[:, None] * columns + column[None, :], mask=row[:, None] < last, other=0.0), 0
        )
    tl.store(o + segment * columns + column, total)


@triton.jit
def two_stage_parts(x, parts, n, B: tl.constexpr, PER: tl.constexpr):
    """Adds a long vector to one number per program, in a grid that the config decides."""
    total = tl.zeros((B,), tl.float32)
    for step in range(PER):
        i = (tl.program_id(0) * PER + step) * B + tl.arange(0, B)
        total += tl.load(x + i, mask=i < n, other=0.0)
    tl.store(parts + tl.program_id(0), tl.sum(total))


@triton.jit
def last_adds_parts(x, parts, count, o, n, B: tl.constexpr, PROGRAMS: tl.constexpr):
    """Adds a vector to one part per program; the program that finishes last adds the parts."""
    pid = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for start in range(pid * B, n, PROGRAMS * B):
        i = start + tl.arange(0, B)
        total += tl.load(x + i, mask=i < n, other=0.0)
    tl.store(parts + pid, tl.sum(total))
    tl.debug_barrier()
    if tl.atomic_add(count, 1, sem="acq_rel") == PROGRAMS - 1:
        place = tl.arange(0, PROGRAMS)
        tl.store(o, tl.sum(tl.load(parts + place, volatile=True)))
        tl.store(count, 0)


@triton.jit
def persistent_sums(x, o, rows, columns, B: tl.constexpr, PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr):
    """Adds rows in programs that each take many, with loops that may be one."""
    for row in tl.range(tl.program_id(0), rows, PROGRAMS, flatten=FLATTEN):
        total = tl.zeros((B,), tl.float32)
        for start in tl.range(0, columns, B):
            column = start + tl.arange(0, B)
            total += tl.load(x + row * columns + column, mask=column < columns, other=0.0)
        tl.store(o + row, tl.sum(total))


def _rows(rows: int, columns: int, outputs: int = 1, dtype: torch.dtype = torch.float32) -> object:
    def make(data: Data) -> Arguments:
        return data.normal(rows, columns, dtype=dtype), *(data.zeros(rows) for _ in range(outputs)), columns

    return make


def _extremes(data: Data) -> Arguments:
    floats = (data.zeros(256) for _ in range(3))
    return data.special(256, 512), *floats, *(data.zeros(256, dtype=torch.int32) for _ in range(2)), 512


def _integers(data: Data) -> Arguments:
    values = data.integers(-(2**31), 2**31 - 1, 256, 512)
    return values, *(data.zeros(256, dtype=torch.int32) for _ in range(4)), 512


def _segments(data: Data) -> Arguments:
    ends = [0, 3, 3, 40, 41, 170, 233, 500, 512]
    return data.normal(512, 256), data.listed(ends), data.zeros(8, 256), 256


_WARPS = [1, 2, 4, 8, 16]
_ROWS = {"RB": [1, 2, 4, 8, 16], "num_warps": _WARPS}

SPACES = [
    *(
        Space(
            f"row_sums_{name}",
            row_sums,
            unfused(product(48, KEEP=[False, True], B=[1024], **_ROWS)),
            (256, 1000),
            _rows(256, 1000, dtype=dtype),
            lambda config: (256 // config["RB"],),
        )
        for name, dtype in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16))
    ),
    Space(
        "special_sums",
        row_sums,
        unfused(product(32, KEEP=[False], B=[1024], **_ROWS)),
        (256, 1000),
        lambda data: (data.special(256, 1000, one_in=1500), data.zeros(256), 1000),
        lambda config: (256 // config["RB"],),
    ),
    Space(
        "unaligned_sums",
        row_sums,
        unfused(product(48, KEEP=[False], B=[1024], **_ROWS)),
        (256, 999),
        lambda data: (data.normal(256 * 999 + 1)[1:].view(256, 999), data.zeros(256), 999),
        lambda config: (256 // config["RB"],),
    ),
    Space(
        "single_row_sums",
        column_sums,
        unfused(product(32, RB=[1, 4, 16], CB=[32, 64, 128], num_warps=_WARPS[:3])),
        (1, 128),
        lambda data: (data.normal(1, 128), data.zeros(128), 1, 128),
        lambda config: (128 // config["CB"],),
    ),
    Space(
        "column_sums",
        column_sums,
        unfused(product(80, RB=[1, 2, 4, 8, 16, 32, 64], CB=[16, 32, 64, 128], num_warps=_WARPS[:4])),
        (300, 256),
        lambda data: (data.normal(300, 256), data.zeros(256), 300, 256),
        lambda config: (256 // config["CB"],),
    ),
    Space(
        "middle_sums",
        middle_sums,
        unfused(product(80, A=[1, 2, 4], B=[64], C=[32], TWICE=[False, True], num_warps=_WARPS, num_stages=[3])),
        (16, 64, 32),
        lambda data: (data.normal(16, 64, 32), data.zeros(16, 32)),
        lambda config: (16 // config["A"],),
    ),
    Space(
        "whole_sum",
        whole_sum,
        unfused(product(80, B=[64, 128, 512, 1024, 4096], ROWS=[1, 4, 16, 64], num_warps=_WARPS[:4])),
        (50000,),
        lambda data: (data.normal(50000), data.zeros(1024), 50000),
        lambda config: (cdiv(50000, config["B"]),),
    ),
    Space(
        "extremes",
        extremes,
        unfused(product(64, B=[512], LEFT=[True, False], **_ROWS)),
        (256, 512),
        _extremes,
        lambda config: (256 // config["RB"],),
    ),
    Space(
        "integer_reductions",
        integer_reductions,
        unfused(product(64, B=[512], **_ROWS)),
        (256, 512),
        _integers,
        lambda config: (256 // config["RB"],),
    ),
    Space(
        "welford",
        welford,
        unfused(product(64, B=[32, 64, 128, 256, 512, 1024, 2048, 4096], num_warps=_WARPS)),
        (128, 3000),
        _rows(128, 3000, 2),
        lambda _config: (128,),
    ),
    Space(
        "log_sum_exp",
        log_sum_exp,
        unfused(product(64, B=[512], **_ROWS)),
        (256, 512),
        _rows(256, 512),
        lambda config: (256 // config["RB"],),
    ),
    Space(
        "row_products",
        row_products,
        unfused(product(64, B=[256], **_ROWS)),
        (256, 256),
        lambda data: (data.uniform(256, 256, low=0.7, high=1.35), data.zeros(256), 256),
        lambda config: (256 // config["RB"],),
    ),
    Space(
        "dot_rows",
        dot_rows,
        unfused(product(80, B=[32, 64, 128, 256, 512, 1024, 2048], MODE=[0, 1], num_warps=_WARPS)),
        (128, 2048),
        lambda data: (data.normal(128, 2048), data.normal(128, 2048), data.zeros(128), 2048),
        lambda _config: (128,),
    ),
    Space(
        "norms",
        norms,
        unfused(product(64, B=[512], **_ROWS)),
        (256, 512),
        _rows(256, 512, 3, torch.bfloat16),
        lambda config: (256 // config["RB"],),
    ),
    Space(
        "jagged_sums",
        jagged_sums,
        unfused(product(80, RB=[1, 2, 4, 8, 16, 32, 64], CB=[32, 64, 128, 256], num_warps=_WARPS[:4])),
        (512, 256),
        _segments,
        lambda config: (8, 256 // config["CB"]),
    ),
    Space(
        "two_stage_parts",
        two_stage_parts,
        unfused(product(72, B=[64, 128, 256, 512, 1024], PER=[1, 2, 4, 8], num_warps=_WARPS[:4])),
        (60000,),
        lambda data: (data.normal(60000), data.zeros(1024), 60000),
        lambda config: (cdiv(60000, config["B"] * config["PER"]),),
    ),
    Space(
        "last_adds_parts",
        last_adds_parts,
        unfused(product(64, B=[64, 128, 256, 512], PROGRAMS=[1, 2, 8, 32, 128], num_warps=_WARPS[:4])),
        (60000,),
        lambda data: (data.normal(60000), data.zeros(128), data.zeros(1, dtype=torch.int32), data.zeros(1), 60000),
        lambda config: (config["PROGRAMS"],),
    ),
    Space(
        "persistent_sums",
        persistent_sums,
        unfused(
            product(72, B=[64, 128, 256, 512, 1024], PROGRAMS=[1, 7, 64], FLATTEN=[False, True],
                    num_warps=_WARPS[:4], num_stages=[1, 3])
        ),
        (200, 1000),
        lambda data: (data.normal(200, 1000), data.zeros(200), 200, 1000),
        lambda config: (config["PROGRAMS"],),
    ),
]  # fmt: skip
