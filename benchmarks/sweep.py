"""Compares a sweep with a plain loop of triton.compile, and the size of its capture with that of its stages.

  python -m benchmarks.sweep

Compiles the 24-variant matmul sweep for cuda:90: the loop in one process with a cold cache, `irscope compile`
with its default workers and a cold cache, and `irscope compile` again with a warm cache. Prints wall seconds,
their ratios, and the bytes of the capture and of its stages.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.compile_commands import SAMPLES, compile_matmul
from benchmarks.processes import run
from irscope.store import CaptureReader

# The strides that are 1 in the signature.
ONES = ("stride_ak", "stride_bn", "stride_cn")
LOOP = """
import sys
sys.path.insert(0, {folder!r})
import triton
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget
from itertools import product
from matmul import matmul_kernel

fn = matmul_kernel.fn

for m, n, k, warps in product((64, 128), (64, 128, 256), (32, 64), (4, 8)):
    constants = dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=8)
    constants |= {{name: 1 for name in {ones!r}}}
    signature = {{
        name: "constexpr" if name in constants else "*fp16" if name.endswith("_ptr") else "i32"
        for name in fn.arg_names
    }}
    runtime = [(i, name) for i, name in enumerate(fn.arg_names) if name not in constants]
    attrs = {{(i,): [["tt.divisibility", 16]] for i, _ in runtime}}
    source = ASTSource(fn, signature, constants, attrs)
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options=dict(num_warps=warps, num_stages=3))
"""


def timed(command: list[str], cache: Path) -> float:
    """Return the wall seconds of a command with that Triton cache."""
    return run(command, environment=os.environ | {"TRITON_CACHE_DIR": str(cache)}).wall


def main() -> None:
    """Runs the three alternately for several rounds, and prints the best of each with the ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    times: dict[str, list[float]] = {"loop": [], "irscope": [], "again": []}
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "sweep.irscope"
        command = compile_matmul(capture)
        loop = [sys.executable, "-c", LOOP.format(folder=str(SAMPLES), ones=ONES)]
        for turn in range(rounds):
            times["loop"].append(timed(loop, Path(folder) / f"loop{turn}"))
            cache = Path(folder) / f"irscope{turn}"
            times["irscope"].append(timed(command, cache))
            times["again"].append(timed(command, cache))
        with CaptureReader(capture) as opened:
            variants = opened.variants()
            stages = sum(a.size for variant in variants for a in variant.artifacts.values())
        size = capture.stat().st_size
    best = {name: min(values) for name, values in times.items()}
    print(f"variants                {len(variants)}")
    print(f"loop of triton.compile  {best['loop']:.1f} s")
    print(
        f"irscope compile         {best['irscope']:.1f} s, {best['irscope'] / best['loop']:.2f} of the loop"
    )
    print(f"irscope compile, again  {best['again']:.1f} s, {best['again'] / best['loop']:.3f} of the loop")
    print(f"stages                  {stages:,} bytes")
    print(f"capture                 {size:,} bytes, {size / stages:.3f} of the stages")


if __name__ == "__main__":
    main()
