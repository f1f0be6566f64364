"""Measures the CPU time and the size of the capture of `irscope compile` with and without --passes.

  python benchmarks/passes_cost.py [ROUNDS]

Compiles samples with a cold cache and one worker, alternating, for an NVIDIA and an AMD target. Prints the
CPU seconds of all processes (wall time means little on a busy machine) minus those of a run in which
Triton's cache has everything, their ratio, and the bytes of the captures.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "samples"
MATMUL = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1"
BLOCKS = ("--config", "BLOCK_M=64,128", "--config", "BLOCK_N=64,128", "--config", "BLOCK_K=32")
REST = ("--config", "GROUP_M=8", "--config", "num_warps=4,8", "--config", "num_stages=3")
CASES = {
    "matmul": ("matmul.py::matmul_kernel", MATMUL, (*BLOCKS, *REST)),
    "softmax": (
        "fused_softmax.py::softmax_kernel",
        "*fp32:16, *fp32:16, i32:16, i32:16, i32:16",
        ("--config", "BLOCK_SIZE=1024,2048,4096,8192", "--config", "num_warps=4,8"),
    ),
}


def cpu_seconds(command: list[str], cache: str) -> float:
    """CPU seconds of a command and its subprocesses, with that Triton cache."""
    before = os.times()
    subprocess.run(
        command, check=True, env=os.environ | {"TRITON_CACHE_DIR": cache}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)


def measured(case: str, target: str, rounds: int) -> str:
    """The line of a sample and target: the minimum of each figure over the rounds."""
    kernel, signature, configs = CASES[case]
    times: dict[str, list[float]] = {"start": [], "plain": [], "passes": []}
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "c.irscope"
        command = [
            sys.executable, "-m", "irscope", "compile", str(SAMPLES / kernel), "--signature", signature,
            *configs, "--target", target, "-j", "1", "--force", "-o", str(capture),
        ]  # fmt: skip
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
