"""Measures the matrix of 100 configs of the matmul sample and 20 GPUs of 8 compute capabilities.

    python -m benchmarks.device_matrix FOLDER [--jobs N] [--repeat 3]

FOLDER keeps the capture, Triton's cache and irscope's, so that a second run compiles nothing. Prints the
compilations against configs x compute capabilities (asked: at most 1.1 times as many), and the seconds of the
command when everything is in the caches (asked: 5).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.compile_commands import Axes, compile_matmul
from benchmarks.processes import IRSCOPE, run

ASKED_SECONDS, ASKED_COMPILATIONS = 5.0, 1.1
DEVICES = (
    "H100", "H100 PCIe", "H100 NVL", "H200", "GH200", "H20", "A100", "A100 40GB", "A30", "RTX 3090", "A10",
    "RTX A6000", "L4", "L40S", "RTX 4090", "B200", "B300", "RTX 5090", "RTX PRO 6000", "GB10",
)  # fmt: skip
CAPABILITIES = 8
# 100 configs.
AXES: Axes = {
    "BLOCK_M": (16, 32, 64, 128, 256), "BLOCK_N": (16, 32, 64, 128, 256), "BLOCK_K": (32, 64),
    "num_warps": (4, 8), "GROUP_M": (8,), "num_stages": (3,),
}  # fmt: skip
CONFIGS = 100
LAUNCH = (
    "grid=(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), M=4096, N=4096, K=4096, "
    "stride_am=4096, stride_bk=4096, stride_cm=4096"
)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    folder = args.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    capture, triton_cache = folder / "matmul.irscope", folder / "triton"
    environment = os.environ | {
        "TRITON_CACHE_DIR": str(triton_cache),
        "IRSCOPE_CACHE": str(folder / "irscope"),
    }
    jobs = ("-j", str(args.jobs))
    if not capture.exists():
        run([*compile_matmul(capture, AXES), *jobs], environment=environment)
    command = [*IRSCOPE, "table", capture, "--devices", ",".join(DEVICES), "--launch", LAUNCH, *jobs]
    first = run([*command, "--format", "json"], environment=environment)
    (folder / "matrix.json").write_text(first.output)
    print(f"first call of this run: {first.wall:.1f} s, {first.cpu:.1f} s CPU")
    compiled = sum(any(entry.glob("*.cubin")) for entry in triton_cache.iterdir())
    needed = CONFIGS * CAPABILITIES
    print(f"compilations: {compiled} of {needed}, {compiled / needed:.2f}x (asked {ASKED_COMPILATIONS}x)")
    usages = [run(command, environment=environment) for _ in range(args.repeat)]
    best = min(usages, key=lambda usage: usage.wall)
    cells = CONFIGS * len(DEVICES)
    print(
        f"{cells} cells, all in the caches: {best.wall:.1f} s, {best.cpu:.1f} s CPU (asked {ASKED_SECONDS} s)"
    )


if __name__ == "__main__":
    main()
