"""Measures the throughput of atomics on a GPU: by width, type, lanes per address, and how many lines they share.

    python -m tools.calibration.tune.atomics --output atomics.jsonl.gz
    python -m tools.calibration.tune.atomics --compare tools/calibration/tune/atomics.jsonl.gz

Each program adds blocks to places that a hash chooses, in a loop. One JSON line per case: the time of the
launch, the atomics of threads, the sectors (32 bytes) that its requests touch, and how many different ones
there are. `irscope/estimating/atomic_rates.py` has the rates that the lines show.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from irscope.estimating.constants import H100
from irscope.estimating.counting.counts import AccessCount
from irscope.estimating.model import atomic_cycles
from irscope.estimating.work import atomic_passes
from tools.calibration.tune.spaces import read_lines

_WARPS, _STEPS, _PROGRAMS = 4, 32, 132 * 16


@triton.jit
def blocks(
    table,
    D,
    STEPS: tl.constexpr,
    B: tl.constexpr,
    STRIDE: tl.constexpr,
    SHARED: tl.constexpr,
    USED: tl.constexpr,
    SEM: tl.constexpr,
):
    """Adds B elements (SHARED lanes per element, STRIDE elements apart) to one of D blocks per step."""
    i = tl.arange(0, B) // SHARED * STRIDE
    one = tl.full((B,), 1, table.dtype.element_ty)
    total = tl.zeros((B,), table.dtype.element_ty)
    for step in range(STEPS):
        at = tl.program_id(0) * STEPS + step
        block = ((at * 40503) ^ (at >> 5)) & 0x7FFFFFFF
        place = (block % D) * (B // SHARED * STRIDE)
        if USED:
            total += tl.atomic_add(table + place + i, one, sem=SEM)
        else:
            tl.atomic_add(table + place + i, one, sem=SEM)
    if USED:
        tl.store(table + tl.program_id(0) % D * (B // SHARED * STRIDE) + i, total)


@triton.jit
def scattered(table, D, STEPS: tl.constexpr, B: tl.constexpr):
    """Each lane adds to one of D elements by chance, as a histogram does."""
    i = tl.arange(0, B)
    one = tl.full((B,), 1, table.dtype.element_ty)
    for step in range(STEPS):
        at = (tl.program_id(0) * STEPS + step) * B + i
        at = (at ^ (at >> 9)) * 40503
        at = ((at ^ (at >> 13)) * 8121) & 0x7FFFFFFF
        tl.atomic_add(table + at % D, one, sem="relaxed")


@triton.jit
def rows(table, D, C, B: tl.constexpr, R: tl.constexpr):
    """Adds R rows of B of C columns to random rows of a table with D: blocks of columns one after the other."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    r = ((r * 40503) ^ (r >> 5)) & 0x7FFFFFFF
    c = tl.program_id(1) * B + tl.arange(0, B)
    value = tl.full((R, B), 1.0, tl.float32)
    tl.atomic_add(table + (r % D)[:, None] * C + c[None, :], value, sem="relaxed")


def _milliseconds(launch: Any) -> float:
    launch()
    torch.cuda.synchronize()
    return float(triton.testing.do_bench(launch, 2, 8, return_mode="median"))


def _table(elements: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(elements, device="cuda", dtype=dtype)


def _block_case(
    dtype: torch.dtype,
    per_lane: int,
    kilobytes: float,
    stride: int = 1,
    shared: int = 1,
    used: bool = False,
    sem: str = "relaxed",
    programs: int = _PROGRAMS,
    warps: int = _WARPS,
) -> dict[str, Any]:
    size = dtype.itemsize
    b = 32 * warps * per_lane
    own = b // shared * stride
    different = max(1, int(kilobytes * 1024 // (own * size)))
    table = _table(different * own, dtype)
    run = lambda: blocks[(programs,)](table, different, _STEPS, b, stride, shared, used, sem, num_warps=warps)  # noqa: E731
    sectors = max(1, own * size // 32) if stride * size <= 32 else b // shared
    times = programs * _STEPS
    return {
        "case": "blocks", "type": str(dtype)[6:], "per_lane": per_lane, "stride": stride, "shared": shared,
        "used": used, "sem": sem, "programs": programs, "warps": warps, "kilobytes": different * own * size / 1024,
        "ms": _milliseconds(run), "threads": times * b, "requests": times * warps, "sectors": times * sectors,
        "different": different * sectors,
    }  # fmt: skip


def _scattered_case(dtype: torch.dtype, different: int, per_lane: int = 1) -> dict[str, Any]:
    table = _table(max(different, 8), dtype)
    b = 32 * _WARPS * per_lane
    run = lambda: scattered[(_PROGRAMS,)](table, different, _STEPS, b, num_warps=_WARPS)  # noqa: E731
    return {
        "case": "scattered", "type": str(dtype)[6:], "per_lane": per_lane, "different": different, "ms": _milliseconds(run),
        "threads": _PROGRAMS * _STEPS * b,
    }  # fmt: skip


def _rows_case(count: int, different: int, columns: int, b: int, r: int, warps: int) -> dict[str, Any]:
    table = _table(different * columns, torch.float32)
    run = lambda: rows[(count // r, columns // b)](table, different, columns, b, r, num_warps=warps)  # noqa: E731
    return {
        "case": "rows", "count": count, "rows": different, "columns": columns, "block": b, "per_program": r,
        "warps": warps, "ms": _milliseconds(run), "sectors": count * columns // 8,
    }  # fmt: skip


def cases() -> Iterator[dict[str, Any]]:
    """All cases, measured one after the other."""
    f32, f16, bf16, i32, i64, f64 = (
        torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.float64,
    )  # fmt: skip
    # By type and elements per lane, in 4 MB.
    for dtype, widths in (
        (f32, (1, 2, 4)),
        (f16, (1, 2, 4, 8)),
        (bf16, (1, 2, 4, 8)),
        (i32, (1, 4)),
        (i64, (1,)),
        (f64, (1, 2)),
    ):
        for width in widths:
            yield _block_case(dtype, width, 4096)
    # By how many bytes are added to, from one line to more than L2 holds.
    for kilobytes in (0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 16384, 65536, 262144):
        for dtype, width in ((f32, 1), (f32, 4), (f16, 2), (i32, 1)):
            if kilobytes * 1024 >= 128 * width * dtype.itemsize:
                yield _block_case(dtype, width, kilobytes)
    # Lanes that add to the same element, over 4 MB and one block.
    for shared in (2, 4, 8, 16, 32, 128):
        for dtype in (f32, i32, f16):
            for kilobytes in (1024, 0.015625):
                yield _block_case(dtype, 1, kilobytes, shared=shared)
    # Lanes in sectors and lines of their own.
    for stride in (2, 4, 8, 32):
        for dtype in (f32, i32):
            yield _block_case(dtype, 1, 4096, stride=stride)
    # Returned values, orders, few programs.
    for used in (False, True):
        for sem in ("relaxed", "acq_rel"):
            for kilobytes in (0.5, 4096):
                yield _block_case(f32, 1, kilobytes, used=used, sem=sem)
    for programs in (1, 8, 33, 66, 132, 264, 528):
        for width in (1, 4):
            yield _block_case(f32, width, 4096, programs=programs)
        yield _block_case(f32, 1, 0.5, programs=programs)
    for different in (1, 2, 4, 8, 16, 32, 64, 256, 1024, 16384, 1 << 20):
        for dtype in (f32, i32):
            yield _scattered_case(dtype, different)
    for different, columns in ((500, 512), (50, 512), (5, 512), (500, 1024), (4000, 512)):
        for b, r, warps in ((64, 4, 4), (64, 16, 4), (128, 4, 4), (256, 4, 4), (512, 4, 4), (512, 1, 2)):
            yield _rows_case(65536, different, columns, b, r, warps)


# The time of a launch without any work, and until its first atomics: that of the cases with one program.
_OVERHEAD = 5.0


def compared(line: Mapping[str, Any]) -> tuple[str, float, float] | None:
    """A case by name, with the passes per cycle that were measured and that the model has.

    None for what the model has elsewhere: lanes that share an address, fences, few programs, more than 4 MiB
    (DRAM), types of which one instruction adds only one number per lane.
    """
    if line["case"] == "rows":
        size = line["rows"] * line["block"] * 4
        name = f"{line['rows']} rows of {line['columns']}, {line['block']} columns at once"
        passes = line["sectors"]
    elif line["case"] == "blocks" and line["shared"] == 1 and line["programs"] == _PROGRAMS:
        several = line["per_lane"] > 1 and line["type"] in ("int32", "float64")
        if line["sem"] != "relaxed" or line["used"] or line["kilobytes"] > 4096 or several:
            return None
        size = line["kilobytes"] * 1024
        name = f"{line['type']} x {line['per_lane']}, {line['stride']} apart, {line['kilobytes']:g} KiB"
        opcode = f"atom.global.add.v{line['per_lane']}.{line['type'].replace('loat', '')}".replace("v1.", "")
        passes = atomic_passes(
            AccessCount(0, "global", "atomic", opcode, "", 4, 1, line["threads"], sectors=line["sectors"])
        )
    else:
        return None
    launch = {
        "atomic bytes": np.array([size]),
        "atomic passes": np.array([passes]),
        "programs": np.array([1.0]),
        "ended programs": np.array([0.0]),
    }
    cycles = (line["ms"] * 1e3 - _OVERHEAD) * H100.clock * 1e3
    return name, passes / cycles, passes / float(atomic_cycles(launch, H100)[0])


def compare(path: Path) -> None:
    """Prints the measured and the modelled rate of each case, and how far apart they are."""
    found = [one for line in read_lines(path) if (one := compared(line))]
    print(f"{'case':<52}{'passes per cycle':>18}{'model':>8}")
    for name, measured, modelled in found:
        print(f"{name:<52}{measured:>18.2f}{modelled:>8.2f}")
    errors = sorted(max(a / b, b / a) for _, a, b in found)
    within = sum(error < 1.25 for error in errors)
    print(f"{len(found)} cases, {within} within 25 %, median {statistics.median(errors) - 1:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the throughput of atomics on a GPU.")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--output", type=Path)
    way.add_argument("--compare", type=Path)
    options = parser.parse_args()
    if options.compare:
        compare(options.compare)
        return
    with gzip.open(options.output, "wt") as output:
        for line in cases():
            output.write(json.dumps(line) + "\n")
            output.flush()
    print(f"Triton {triton.__version__}, {torch.cuda.get_device_name(0)}")


if __name__ == "__main__":
    main()
