"""Compares irscope's wavefronts of shared-memory accesses with those that Nsight Compute measures.

Needs an NVIDIA GPU, torch, Triton with Gluon and `ncu`: python -m tools.calibration.bank_conflicts
Each kernel is one warp that loads one tile from shared memory once, so the counter
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum is the number that irscope computes.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
ROWS_FIRST = gl.BlockedLayout([1, 8], [4, 8], [1, 1], [1, 0])
COLUMN = gl.BlockedLayout([1, 1], [32, 1], [1, 1], [0, 1])
MMA = gl.NVMMADistributedLayout([2, 0], [1, 1], [16, 8])


@dataclass(frozen=True)
class Case:
    """A tile in shared memory and the layout in which a warp loads it."""

    name: str
    shape: tuple[int, int]
    dtype: str
    shared: gl.SwizzledSharedLayout
    registers: Any


def swizzled(vec: int, per_phase: int, max_phase: int, order: tuple[int, int] = (1, 0)) -> Any:
    return gl.SwizzledSharedLayout(vec, per_phase, max_phase, list(order))


CASES = [
    Case("f32, down a column", (32, 32), "float32", swizzled(1, 1, 1), COLUMN),
    Case("f32, down a column, swizzled", (32, 32), "float32", swizzled(1, 1, 32), COLUMN),
    Case(
        "f32, 4 bytes a thread, two columns",
        (32, 32),
        "float32",
        swizzled(1, 1, 1),
        gl.BlockedLayout([1, 1], [16, 2], [1, 1], [1, 0]),
    ),
    Case("f32, swizzled in 8 ways", (32, 32), "float32", swizzled(1, 1, 8), COLUMN),
    Case(
        "f16, 16 bytes a thread, a row each",
        (32, 64),
        "float16",
        swizzled(8, 1, 1),
        gl.BlockedLayout([1, 8], [32, 1], [1, 1], [1, 0]),
    ),
    Case(
        "f16, 16 bytes a thread, a row each, swizzled",
        (32, 64),
        "float16",
        swizzled(8, 1, 8),
        gl.BlockedLayout([1, 8], [32, 1], [1, 1], [1, 0]),
    ),
    Case(
        "f16, 8 bytes a thread",
        (32, 32),
        "float16",
        swizzled(4, 1, 1),
        gl.BlockedLayout([1, 4], [32, 1], [1, 1], [1, 0]),
    ),
    Case(
        "f16, 2 bytes a thread, two words of a bank",
        (32, 64),
        "float16",
        swizzled(1, 4, 2, (0, 1)),
        gl.BlockedLayout([4, 4], [1, 32], [1, 1], [0, 1]),
    ),
    Case("f16, operand A of mma", (16, 64), "float16", swizzled(8, 1, 1), gl.DotOperandLayout(0, MMA, 2)),
    Case(
        "f16, operand A of mma, swizzled",
        (16, 64),
        "float16",
        swizzled(8, 1, 8),
        gl.DotOperandLayout(0, MMA, 2),
    ),
    Case("f16, operand B of mma", (64, 64), "float16", swizzled(8, 1, 1), gl.DotOperandLayout(1, MMA, 2)),
    Case(
        "f16, operand B of mma, swizzled",
        (64, 64),
        "float16",
        swizzled(8, 1, 8),
        gl.DotOperandLayout(1, MMA, 2),
    ),
]


@gluon.jit
def load_once(  # noqa: ANN201 - typed by Triton
    source,  # noqa: ANN001
    target,  # noqa: ANN001
    rows: gl.constexpr,
    columns: gl.constexpr,
    shared: gl.constexpr,
    writing: gl.constexpr,
    reading: gl.constexpr,
):
    row = gl.arange(0, rows, gl.SliceLayout(1, writing))[:, None]
    column = gl.arange(0, columns, gl.SliceLayout(0, writing))[None, :]
    tile = gl.load(source + row * columns + column)
    buffer = gl.allocate_shared_memory(source.dtype.element_ty, [rows, columns], shared, tile)
    values = buffer.load(reading)
    row = gl.arange(0, rows, gl.SliceLayout(1, reading))[:, None]
    column = gl.arange(0, columns, gl.SliceLayout(0, reading))[None, :]
    gl.store(target + row * columns + column, values)


def launch(case: Case) -> Any:
    import torch

    dtype = getattr(torch, case.dtype)
    source = torch.arange(case.shape[0] * case.shape[1], device="cuda").to(dtype).reshape(case.shape)
    target = torch.empty_like(source)
    compiled = load_once[(1,)](
        source, target, *case.shape, case.shared, ROWS_FIRST, case.registers, num_warps=1
    )
    torch.cuda.synchronize()
    assert torch.equal(source, target), case.name
    return compiled


def counted(ttgir: str, ptx: str) -> Any:
    """The conflicts that irscope computes for the load in a compiled kernel."""
    from irscope.languages.language import parse
    from irscope.layouts.kernel_layouts import KernelLayouts
    from irscope.targets import parse_target

    kernel = KernelLayouts(parse(ttgir, "mlir"), parse_target("cuda:90"), triton.__version__, ptx)
    (load,) = (one for one in kernel.accesses if one.access.opcode == "ttg.local_load")
    return load.conflicts


def measured() -> list[dict[str, float]]:
    """The counters of ncu for each case, in order."""
    command = ["ncu", "--csv", "--clock-control", "none", "-k", "load_once"]
    done = subprocess.run(
        [*command, "--metrics", f"{WAVEFRONTS},{CONFLICTS}", sys.executable, __file__, "--launch"],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    if done.returncode:
        sys.exit(f"ncu: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    lines = done.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith('"ID"'))
    launches: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        launches.setdefault(row["ID"], {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    return list(launches.values())


def main() -> None:
    if "--launch" in sys.argv:
        for case in CASES:
            launch(case)
        return
    if shutil.which("ncu") is None:
        sys.exit("ncu is not on PATH: there is nothing to measure with")
    import torch

    print(f"{torch.cuda.get_device_name()}, Triton {triton.__version__}")
    kernels = [launch(case) for case in CASES]
    print(f"{'':46}{'irscope':>28}{'ncu':>22}")
    print(f"{'':46}{'bytes':>8}{'ways':>8}{'turns':>12}{'wavefronts':>12}{'conflicts':>10}")
    for case, kernel, real in zip(CASES, kernels, measured(), strict=True):
        predicted = counted(kernel.asm["ttgir"], kernel.asm["ptx"])
        width = f"{predicted.width}{' m' if predicted.kind == 'matrix' else ''}"
        same = "equal" if predicted.wavefronts == real[WAVEFRONTS] else "DIFFERENT"
        print(
            f"{case.name:46}{width:>8}{predicted.ways:>8}{predicted.wavefronts:>12}"
            f"{real[WAVEFRONTS]:>12.0f}{real[CONFLICTS]:>10.0f}  {same}"
        )


if __name__ == "__main__":
    main()
