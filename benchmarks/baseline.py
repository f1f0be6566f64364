"""Measures irscope compile --baseline: a library of which 1 % of the kernels change between two commits.

    python -m benchmarks.baseline [--kernels 100] [--configs 12] [--touched 1] [--check]

Writes a module of so many kernels (a fused normalization with a reduction, each with constants of its own),
compiles each under so many configs, edits the first ones in place, and compiles the module again with the old
capture as the baseline, each with a cold Triton cache. Prints wall and CPU seconds and their ratios; "same"
is a compilation with nothing changed: what starting, planning and copying take. --check also compiles the
edited module from scratch, and counts the variants that differ (0 is right). 1,200 variants take 4 minutes on
two cores, 8 with --check; --kernels 92 --configs 30 are 3,312 variants, which take 15.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.compile_commands import compile_command
from benchmarks.processes import Usage, run
from irscope.store import CaptureReader

HEADER = """import triton
import triton.language as tl

"""
KERNEL = """
@triton.jit
def normalize_{number}(x_ptr, w_ptr, out_ptr, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    inside = columns[None, :] < n
    places = rows[:, None] * n + columns[None, :]
    x = tl.load(x_ptr + places, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / n
    centered = tl.where(inside, x - mean[:, None], 0.0)
    variance = tl.sum(centered * centered, axis=1) / n + {epsilon}
    weight = tl.load(w_ptr + columns, mask=columns < n, other=0.0)
    y = centered * tl.rsqrt(variance)[:, None] * weight[None, :] + {number}.0
    tl.store(out_ptr + places, tl.where(y > 0, y, tl.exp(y) - 1), mask=inside)
"""
ROWS = (1, 2, 4, 8)
BLOCKS = (128, 256, 512, 1024)
WARPS = (2, 4, 8)


def write_module(path: Path, kernels: int, touched: int) -> None:
    """The module; the first `touched` kernels have another constant, on the same lines."""
    numbers = range(kernels)
    texts = [KERNEL.format(number=i, epsilon="1e-5" if i < touched else "1e-6") for i in numbers]
    path.write_text(HEADER + "\n".join(texts))


def compile_module(module: Path, configs: int, output: str, *options: str) -> Usage:
    """Compile the module with a cold Triton cache."""
    cache = module.parent / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    per_warps = -(-configs // len(WARPS))
    blocks = -(-per_warps // len(ROWS))
    axes = {"ROWS": ROWS[: -(-per_warps // blocks)], "BLOCK": BLOCKS[:blocks], "num_warps": WARPS}
    command = compile_command(module.name, axes, output, "--guess", *options)
    return run(command, environment=os.environ | {"TRITON_CACHE_DIR": str(cache)}, cwd=module.parent)


def different(folder: Path, one: str, other: str) -> int:
    """How many variants of two captures differ in a stage that the compiler made."""
    with CaptureReader(folder / one) as ours, CaptureReader(folder / other) as theirs:
        expected = {(v.kernel.name, str(v.config)): v.artifacts for v in ours.variants()}
        found = {(v.kernel.name, str(v.config)): v.artifacts for v in theirs.variants()}
    names = expected.keys() | found.keys()
    return sum(expected.get(name) != found.get(name) for name in names)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernels", type=int, default=100)
    parser.add_argument("--configs", type=int, default=12)
    parser.add_argument("--touched", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="also compile from scratch, and compare")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="irscope-baseline-benchmark-") as name:
        folder = Path(name)
        module = folder / "library.py"
        write_module(module, args.kernels, 0)
        runs = {"all": compile_module(module, args.configs, "old.irscope")}
        runs["same"] = compile_module(module, args.configs, "same.irscope", "--baseline", "old.irscope")
        write_module(module, args.kernels, args.touched)
        runs["baseline"] = compile_module(module, args.configs, "new.irscope", "--baseline", "old.irscope")
        if args.check:
            runs["scratch"] = compile_module(module, args.configs, "scratch.irscope")
        for title, usage in runs.items():
            summary = usage.output.splitlines()[0]
            print(f"{title:<9} {usage.wall:8.1f} s  {usage.cpu:8.1f} s CPU  {summary}", flush=True)
        whole, baseline = runs["all"], runs["baseline"]
        touched, same = args.touched / args.kernels, runs["same"].cpu / whole.cpu
        wall, cpu = baseline.wall / whole.wall, baseline.cpu / whole.cpu
        print(f"ratio     {wall:.1%} of the time, {cpu:.1%} of the CPU time")
        print(f"          {touched:.1%} of the kernels touched; {same:.1%} of the CPU time with none touched")
        if args.check:
            print(f"variants that differ: {different(folder, 'new.irscope', 'scratch.irscope')}")


if __name__ == "__main__":
    main()
