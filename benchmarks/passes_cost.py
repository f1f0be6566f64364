"""Measures the CPU time and the size of the capture of `irscope compile` with and without --passes.

  python -m benchmarks.passes_cost [ROUNDS]

Compiles samples with a cold cache and one worker, alternating, for an NVIDIA and an AMD target. Prints the
CPU seconds of all processes (wall time means little on a busy machine) minus those of a run in which
Triton's cache has everything, their ratio, and the bytes of the captures.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.compile_commands import MATMUL_AXES, MATMUL_SIGNATURE, SAMPLES, Axes, compile_command
from benchmarks.processes import run

CASES: dict[str, tuple[str, str, Axes]] = {
    "matmul": (
        "matmul.py::matmul_kernel",
        MATMUL_SIGNATURE,
        {**MATMUL_AXES, "BLOCK_N": (64, 128), "BLOCK_K": (32,)},
    ),
    "softmax": (
        "fused_softmax.py::softmax_kernel",
        "*fp32:16, *fp32:16, i32:16, i32:16, i32:16",
        {"BLOCK_SIZE": (1024, 2048, 4096, 8192), "num_warps": (4, 8)},
    ),
}


def cpu_seconds(command: list[str], cache: str) -> float:
    """Return the CPU seconds of a command and its subprocesses, with that Triton cache."""
    return run(command, environment=os.environ | {"TRITON_CACHE_DIR": cache}).cpu


def measured(case: str, target: str, rounds: int) -> str:
    """The line of a sample and target: the minimum of each figure over the rounds."""
    kernel, signature, axes = CASES[case]
    times: dict[str, list[float]] = {"start": [], "plain": [], "passes": []}
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "c.irscope"
        options = ("--signature", signature, "--target", target, "-j", "1")
        command = compile_command(str(SAMPLES / kernel), axes, capture, *options)
        for number in range(rounds):
            times["plain"].append(cpu_seconds(command, f"{folder}/plain{number}"))
            times["start"].append(cpu_seconds(command, f"{folder}/plain{number}"))
            plain = capture.stat().st_size
            times["passes"].append(cpu_seconds([*command, "--passes"], f"{folder}/passes{number}"))
            with_passes = capture.stat().st_size
    start, without, with_ = (min(values) for values in times.values())
    ratio = (with_ - start) / (without - start)
    return (
        f"{case:<8} {target:<11} {without - start:6.2f} s, with passes {with_ - start:6.2f} s: {ratio:.2f}x; "
        f"capture {plain / 1e6:.2f} MB, with passes {with_passes / 1e6:.2f} MB"
    )


def main() -> None:
    """Prints a line per sample and target."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for case in CASES:
        for target in ("cuda:90", "hip:gfx942"):
            print(measured(case, target, rounds), flush=True)


if __name__ == "__main__":
    main()
