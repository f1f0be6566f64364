"""Commands of `irscope compile`, and the sweep of the matmul sample that several benchmarks compile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.processes import IRSCOPE, ROOT

Axes = Mapping[str, Iterable[object]]

SAMPLES = ROOT / "samples"
MATMUL = SAMPLES / "matmul.py"
MATMUL_SIGNATURE = ", ".join(["*fp16:16"] * 3 + ["i32:16"] * 3 + ["i32:16, 1"] * 3)
# 24 configs.
MATMUL_AXES: Axes = {
    "BLOCK_M": (64, 128), "BLOCK_N": (64, 128, 256), "BLOCK_K": (32, 64), "num_warps": (4, 8),
    "GROUP_M": (8,), "num_stages": (3,),
}  # fmt: skip


def compile_command(kernel: str | Path, axes: Axes, output: str | Path, *options: str) -> list[str]:
    """Return the command that compiles all combinations of the axes' values."""
    configs = [f"{name}={','.join(map(str, values))}" for name, values in axes.items()]
    command = [*IRSCOPE, "compile", str(kernel)]
    command += [word for config in configs for word in ("--config", config)]
    return [*command, "--force", "-o", str(output), *options]


def compile_matmul(output: Path, axes: Axes = MATMUL_AXES) -> list[str]:
    """Return the command that compiles the matmul sample."""
    return compile_command(MATMUL, axes, output, "--signature", MATMUL_SIGNATURE)
