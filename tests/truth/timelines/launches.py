"""Launches pipelined and specialized kernels that read the clock, and prints the cycles per iteration.

    irscope run -o timelines.irscope tests/truth/timelines/launches.py > measured.jsonl     on a GPU

Every kernel is launched twice, with few and with many iterations: the difference is that of its loop. A
multiprocessor has one program. As in a product of matrices, 8 programs read the same A, and 16 the same B.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

SHORT, LONG = 16, 272
PROGRAMS = 128
_REPEATS = 20


@triton.jit
def read_clock(value):
    return tl.inline_asm_elementwise(
        "mov.u64 $0, %clock64;", "=l,r", [value], dtype=tl.int64, is_pure=False, pack=1
    )


@triton.jit
def pointers(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    begin = read_clock(tl.program_id(0))
    rows = tl.program_id(0) % 16 * BM + tl.arange(0, BM)
    columns = tl.program_id(0) // 16 * BN + tl.arange(0, BN)
    depths = tl.arange(0, BK)
    length = iterations * BK
    a_ptrs = a + rows[:, None] * length + depths[None, :]
    b_ptrs = b + columns[:, None] * length + depths[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(iterations):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs).T, acc)
        a_ptrs += BK
        b_ptrs += BK
    tl.store(c + rows[:, None] * (BN * 8) + columns[None, :], acc)
    tl.debug_barrier()
    tl.store(clocks + tl.program_id(0), read_clock(tl.program_id(0)) - begin)


@triton.jit
def descriptors(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    begin = read_clock(tl.program_id(0))
    length = iterations * BK
    a_tiles = tl.make_tensor_descriptor(a, [16 * BM, length], [length, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [8 * BN, length], [length, 1], [BN, BK])
    row, column = tl.program_id(0) % 16 * BM, tl.program_id(0) // 16 * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, iterations):
        acc = tl.dot(a_tiles.load([row, k * BK]), b_tiles.load([column, k * BK]).T, acc)
    rows = row + tl.arange(0, BM)
    tl.store(c + rows[:, None] * (BN * 8) + column + tl.arange(0, BN)[None, :], acc)
    tl.debug_barrier()
    tl.store(clocks + tl.program_id(0), read_clock(tl.program_id(0)) - begin)


@triton.jit
def specialized(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    begin = read_clock(tl.program_id(0))
    length = iterations * BK
    a_tiles = tl.make_tensor_descriptor(a, [16 * BM, length], [length, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [8 * BN, length], [length, 1], [BN, BK])
    row, column = tl.program_id(0) % 16 * BM, tl.program_id(0) // 16 * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, iterations, warp_specialize=True):
        acc = tl.dot(a_tiles.load([row, k * BK]), b_tiles.load([column, k * BK]).T, acc)
    rows = row + tl.arange(0, BM)
    tl.store(c + rows[:, None] * (BN * 8) + column + tl.arange(0, BN)[None, :], acc)
    tl.debug_barrier()
    tl.store(clocks + tl.program_id(0), read_clock(tl.program_id(0)) - begin)


@triton.jit
def attention(a, b, c, clocks, iterations, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A: queries of BM x BK; B: keys and values of BN x BK per iteration, of 8 heads."""
    begin = read_clock(tl.program_id(0))
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depths = tl.arange(0, BK)
    keys = tl.arange(0, BN)
    query = tl.load(a + rows[:, None] * BK + depths[None, :])
    head = tl.program_id(0) // 16
    offsets = b + head * 2 * iterations * BN * BK + keys[:, None] * BK + depths[None, :]
    acc = tl.zeros((BM, BK), tl.float32)
    highest = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for _ in range(iterations):
        scores = tl.dot(query, tl.load(offsets).T)
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        scale = tl.exp2(highest - higher)
        total = total * scale + tl.sum(weights, 1)
        acc = tl.dot(weights.to(tl.float16), tl.load(offsets + iterations * BN * BK), acc * scale[:, None])
        highest = higher
        offsets += BN * BK
    tl.store(c + rows[:, None] * BK + depths[None, :], acc / total[:, None])
    tl.debug_barrier()
    tl.store(clocks + tl.program_id(0), read_clock(tl.program_id(0)) - begin)


def tile(rows: int, columns: int, depth: int, warps: int, stages: int) -> dict[str, int]:
    return {"BM": rows, "BN": columns, "BK": depth, "num_warps": warps, "num_stages": stages}


_SQUARE = (128, 128, 64, 4)
LAUNCHES: tuple[tuple[str, Any, dict[str, int]], ...] = (
    *((f"pointers-stages{stages}", pointers, tile(*_SQUARE, stages)) for stages in (2, 3, 4)),
    ("pointers-256", pointers, tile(128, 256, 64, 8, 3)),
    ("pointers-64", pointers, tile(64, 64, 64, 4, 3)),
    *((f"descriptors-stages{stages}", descriptors, tile(*_SQUARE, stages)) for stages in (2, 3)),
    ("descriptors-256", descriptors, tile(128, 256, 64, 8, 4)),
    *((f"specialized-stages{stages}", specialized, tile(*_SQUARE, stages)) for stages in (2, 3)),
    *((f"attention-stages{stages}", attention, tile(128, 64, 128, 8, stages)) for stages in (2, 3)),
)


def main() -> None:
    device = torch.cuda.get_device_properties(0)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    for name, kernel, config in LAUNCHES:
        cycles = {iterations: cycles_of(kernel, config, iterations) for iterations in (SHORT, LONG)}
        period = (cycles[LONG] - cycles[SHORT]) / (LONG - SHORT)
        print(json.dumps({"name": name, "device": device.name, "cycles": round(period, 1)}), flush=True)


def cycles_of(
    kernel: Callable[..., Any],
    config: dict[str, Any],
    iterations: int,
    types: tuple[torch.dtype, torch.dtype] = (torch.float16, torch.float16),
    before: Callable[[], object] = lambda: None,
) -> float:
    """The cycles of the median program in the fastest of some launches; `types` are those of A and B.

    `before` is called before each launch.
    """
    rows, columns, depth = config["BM"], config["BN"], config["BK"] * iterations
    a = _random(PROGRAMS * rows * depth, types[0])
    b = _random(16 * columns * depth, types[1])
    c = torch.empty(PROGRAMS * rows * max(columns, config["BK"]), device="cuda")
    clocks = torch.zeros(PROGRAMS, dtype=torch.int64, device="cuda")
    seen = []
    for _ in range(_REPEATS):
        before()
        kernel[(PROGRAMS,)](a, b, c, clocks, iterations, **config)
        torch.cuda.synchronize()
        seen.append(clocks.median().item())
    return float(min(seen))


def _random(count: int, type_: torch.dtype) -> torch.Tensor:
    return torch.randn(count, device="cuda", dtype=torch.float16).to(type_)


if __name__ == "__main__":
    main()
