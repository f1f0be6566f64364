"""Kernels whose constexprs are objects, for the tests: functions, enums, tuples, dataclasses, layouts."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


class Tile(NamedTuple):
    rows: int
    columns: int = 32


@dataclass(frozen=True)
class Scales:
    first: float
    second: float = 1.0


FAST = tl.constexpr(Mode.FAST)
NARROW = gl.BlockedLayout([1], [32], [4], [0])


@triton.jit
def doubled(x):
    return x * 2


@triton.jit
def squared(x):
    return x * x


@triton.jit
def mapped(x_ptr, FUNCTION: tl.constexpr, DTYPE: tl.constexpr, SIZES: tl.constexpr):
    offsets = tl.arange(0, SIZES[0] * SIZES[1])
    x = tl.load(x_ptr + offsets).to(DTYPE)
    tl.store(x_ptr + offsets, FUNCTION(x))


@triton.jit
def chosen(x_ptr, ACTIVATION: tl.constexpr, MODE: tl.constexpr, TILE: tl.constexpr, SCALES: tl.constexpr):
    offsets = tl.arange(0, TILE.rows * TILE.columns)
    x = tl.load(x_ptr + offsets)
    if ACTIVATION == "squared":
        x = squared(x)
    if MODE == FAST:
        x = x * SCALES.first
    tl.store(x_ptr + offsets, x * SCALES.second)


@triton.autotune(
    [triton.Config({"LAYOUT": NARROW}), triton.Config({"LAYOUT": gl.BlockedLayout([4], [32], [4], [0])})],
    key=[],
)
@gluon.jit
def copied(x_ptr, y_ptr, LAYOUT: gl.constexpr):
    offsets = gl.arange(0, 1024, layout=LAYOUT)
    gl.store(y_ptr + offsets, gl.load(x_ptr + offsets))
