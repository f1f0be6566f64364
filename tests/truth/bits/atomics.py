"""Updates memory that several programs share."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.truth.bits.space import Arguments, Config, Data, Grid, Space, cdiv, product, unfused


@triton.jit
def scattered_adds(x, index, o, n, B: tl.constexpr, SEM: tl.constexpr):
    """Adds each element to the place that an index says; many are the same."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    place = tl.load(index + i, mask=inside, other=0)
    tl.atomic_add(o + place, tl.load(x + i, mask=inside, other=0.0), mask=inside, sem=SEM)


@triton.jit
def own_adds(x, o, n, B: tl.constexpr):
    """Adds each element to its own place, so that the order does not matter."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def integer_updates(x, index, total, most, least, both, either, xor, n, B: tl.constexpr):
    """Updates integers in six ways, none of which depends on the order."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    value, place = tl.load(x + i, mask=inside), tl.load(index + i, mask=inside, other=0)
    tl.atomic_add(total + place, value, mask=inside)
    tl.atomic_max(most + place, value, mask=inside)
    tl.atomic_min(least + place, value, mask=inside)
    tl.atomic_and(both + place, value, mask=inside)
    tl.atomic_or(either + place, value, mask=inside)
    tl.atomic_xor(xor + place, value, mask=inside)


@triton.jit
def float_extremes(x, index, most, least, n, B: tl.constexpr):
    """Updates the largest and the smallest float."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    value, place = tl.load(x + i, mask=inside), tl.load(index + i, mask=inside, other=0)
    tl.atomic_max(most + place, value, mask=inside)
    tl.atomic_min(least + place, value, mask=inside)


@triton.jit
def reduced_adds(x, o, rows, columns, RB: tl.constexpr, CB: tl.constexpr):
    """Adds a block's columns, then the sums of all blocks with atomics."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    column = tl.program_id(1) * CB + tl.arange(0, CB)
    values = tl.load(x + row[:, None] * columns + column[None, :], mask=row[:, None] < rows, other=0.0)
    tl.atomic_add(o + column, tl.sum(values, 0))


@triton.jit
def returned_values(x, counter, slots, o, n, B: tl.constexpr):
    """Takes a slot per program in the order in which they come; the slot decides where the sum goes."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.sum(tl.load(x + i, mask=i < n, other=0.0))
    slot = tl.atomic_add(counter, 1)
    tl.store(slots + slot, total)
    tl.store(o + tl.program_id(0), total)


@triton.jit
def locked_adds(x, lock, o, n, B: tl.constexpr):
    """Adds under a lock: one at a time, in any order."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.sum(tl.load(x + i, mask=i < n, other=0.0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(o, tl.load(o, volatile=True) + total)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def exchanged(x, o, old, n, B: tl.constexpr):
    """Exchanges elements and keeps the old ones."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(old + i, tl.atomic_xchg(o + i, tl.load(x + i, mask=i < n), mask=i < n), mask=i < n)


@triton.jit
def embedding_gradient(grad, tokens, o, columns, count, TB: tl.constexpr, CB: tl.constexpr):
    """Adds the gradient of each token to the row of its word."""
    token = tl.program_id(0) * TB + tl.arange(0, TB)
    column = tl.program_id(1) * CB + tl.arange(0, CB)
    word = tl.load(tokens + token, mask=token < count, other=0)
    values = tl.load(
        grad + token[:, None] * columns + column[None, :], mask=token[:, None] < count, other=0.0
    )
    tl.atomic_add(
        o + word[:, None] * columns + column[None, :], values, mask=token[:, None] < count, sem="relaxed"
    )


def _programs(n: int) -> object:
    def grid(config: Config) -> Grid:
        return (cdiv(n, config["B"]),)

    return grid


def _scattered(dtype: torch.dtype, places: int) -> object:
    def make(data: Data) -> Arguments:
        return (
            data.normal(4000, dtype=dtype),
            data.integers(0, places, 4000),
            data.zeros(places, dtype=dtype),
            4000,
        )

    return make


def _pairs(data: Data) -> Arguments:
    places = data.order(4000) % 2000
    return data.normal(4000), places, data.zeros(2000), 4000


def _updates(data: Data) -> Arguments:
    outputs = (data.zeros(100, dtype=torch.int32) for _ in range(3))
    ones = data.zeros(100, dtype=torch.int32) - 1
    others = (data.zeros(100, dtype=torch.int32) for _ in range(2))
    return data.integers(-(2**20), 2**20, 4000), data.integers(0, 100, 4000), *outputs, ones, *others, 4000


def _float_extremes(data: Data) -> Arguments:
    return data.normal(4000), data.integers(0, 100, 4000), data.zeros(100), data.zeros(100), 4000


def _gradient(data: Data) -> Arguments:
    return data.normal(250, 128), data.integers(0, 100, 250), data.zeros(100, 128), 128, 250


_BLOCKS = {"B": [64, 128, 256, 512, 1024], "num_warps": [1, 2, 4, 8]}

SPACES = [
    *(
        Space(
            f"scattered_adds_{name}",
            scattered_adds,
            unfused(product(32, SEM=["relaxed", "acq_rel"], **_BLOCKS)),
            (4000, places),
            _scattered(dtype, places),
            _programs(4000),
        )
        for name, dtype, places in (
            ("f32", torch.float32, 50),
            ("f16", torch.float16, 50),
            ("bf16", torch.bfloat16, 50),
            ("i32", torch.int32, 50),
        )
    ),
    Space("paired_adds", scattered_adds, unfused(product(32, SEM=["relaxed"], **_BLOCKS)), (4000, 2000), _pairs, _programs(4000)),
    Space(
        "own_adds",
        own_adds,
        unfused(product(**_BLOCKS)),
        (4000,),
        lambda data: (data.normal(4000), data.normal(4000), 4000),
        _programs(4000),
    ),
    Space("integer_updates", integer_updates, unfused(product(**_BLOCKS)), (4000, 100), _updates, _programs(4000)),
    Space("float_extremes", float_extremes, unfused(product(**_BLOCKS)), (4000, 100), _float_extremes, _programs(4000)),
    Space(
        "reduced_adds",
        reduced_adds,
        unfused(product(64, RB=[1, 2, 8, 32, 64, 128, 256], CB=[32, 64, 128], num_warps=[1, 2, 4, 8])),
        (256, 128),
        lambda data: (data.normal(256, 128), data.zeros(128), 256, 128),
        lambda config: (256 // config["RB"], 128 // config["CB"]),
    ),
    Space(
        "returned_values",
        returned_values,
        unfused(product(**_BLOCKS)),
        (4000,),
        lambda data: (data.normal(4000), data.zeros(1, dtype=torch.int32), data.zeros(64), data.zeros(64), 4000),
        _programs(4000),
    ),
    Space(
        "locked_adds",
        locked_adds,
        unfused(product(B=[64, 128, 1024, 2048, 4096], num_warps=[1, 2, 4, 8])),
        (4000,),
        lambda data: (data.normal(4000), data.zeros(1, dtype=torch.int32), data.zeros(1), 4000),
        _programs(4000),
    ),
    Space(
        "exchanged",
        exchanged,
        unfused(product(**_BLOCKS)),
        (4000,),
        lambda data: (data.normal(4000), data.normal(4000), data.zeros(4000), 4000),
        _programs(4000),
    ),
    Space(
        "embedding_gradient",
        embedding_gradient,
        unfused(product(48, TB=[1, 4, 16, 64], CB=[32, 64, 128], num_warps=[1, 2, 4, 8])),
        (250, 128),
        _gradient,
        lambda config: (cdiv(250, config["TB"]), 128 // config["CB"]),
    ),
]  # fmt: skip
