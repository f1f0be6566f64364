"""Compares irscope's verdict on what fits a device with a check that shares no code and no limits with it.

  python -m tests.truth.device_fits FOLDER [--configs 200] [--jobs 2]

Compiles a matmul under that many configs for each target of irscope's devices, 15 of them, and reads of each
variant what a launch needs: the shared memory that Triton's launcher asks for (CUDA) or that the assembly
declares (AMD), the registers that the section of the kernel in the cubin says, the threads. These are
compared with the limits of the CUDA C++ Programming Guide (table "Technical Specifications per Compute
Capability") and of AMD's architecture manuals. Prints each disagreement, and how many variants were compared.
FOLDER keeps the captures: only what is missing is compiled.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.processes import compile_file
from irscope.estimating.constants import DEVICES
from irscope.estimating.ranking import why_not_launchable
from irscope.model import Variant
from irscope.workspace import Workspace

SAMPLE = Path(__file__).parents[2] / "samples" / "matmul.py"
SIGNATURE = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1"
SPACE = (
    (16, 32, 64, 128, 256),
    (16, 32, 64, 128, 256),
    (16, 32, 64, 128),
    (1, 2, 4, 8, 16, 32),
    (1, 2, 3, 4, 5),
)
# Accumulators that a thread may have: ptxas takes minutes over more, which all spill.
MOST_ACCUMULATORS = 128
# Bytes of shared memory that a block may have.
CUDA_SHARED = {
    75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10, 90: 227 << 10, 100: 227 << 10,
    103: 227 << 10, 110: 227 << 10, 120: 99 << 10, 121: 99 << 10,
}  # fmt: skip
AMD_SHARED = {"gfx950": 160 << 10}
REGISTERS, THREADS, COLUMNS = 64 << 10, 1024, 512


def registers(cubin: bytes, kernel: str) -> int | None:
    """Return the registers per thread of a kernel: the high byte of sh_info of its section `.text.KERNEL`."""
    number = partial(int.from_bytes, byteorder="little")
    start, size, count, names = (
        number(cubin[40:48]),
        number(cubin[58:60]),
        number(cubin[60:62]),
        number(cubin[62:64]),
    )
    headers = [cubin[start + index * size : start + (index + 1) * size] for index in range(count)]
    strings = number(headers[names][24:32])
    for header in headers:
        at = strings + number(header[0:4])
        if cubin[at : cubin.index(0, at)].decode() == f".text.{kernel}":
            return number(header[44:48]) >> 24
    return None


def fits_cuda(variant: Variant, cubin: bytes) -> bool:
    """Return True if the driver would launch the kernel."""
    threads = int(str(variant.metadata["num_warps"])) * 32
    per_thread = registers(cubin, str(variant.metadata["name"])) or 0
    # Registers are given to a warp in units of 256.
    allocated = -(-per_thread * 32 // 256) * 256 * (threads // 32)
    return (
        int(str(variant.metadata["shared"])) <= CUDA_SHARED[int(str(variant.target.arch))]
        and threads <= THREADS
        and allocated <= REGISTERS
        and int(str(variant.metadata.get("tmem_size") or 0)) <= COLUMNS
    )


def fits_amd(variant: Variant, assembly: bytes) -> bool:
    """Return True if the runtime would launch the kernel."""
    text = assembly.decode()
    match = re.search(r"\.group_segment_fixed_size: +(\d+)", text)
    wave = re.search(r"\.wavefront_size: +(\d+)", text)
    dynamic = max(int(match[1]) if match else 0, int(str(variant.metadata["shared"])))
    threads = int(str(variant.metadata["num_warps"])) * int(wave[1] if wave else 64)
    return dynamic <= AMD_SHARED.get(str(variant.target.arch), 64 << 10) and threads <= THREADS


def compiled(folder: Path, target: str, configs: int, jobs: int) -> Path:
    """Return the capture for a target; compile it if it is missing."""
    path = folder / f"{target.replace(':', '-')}-{configs}.irscope"
    if not path.exists():
        space = [
            (m, n, k, warps, stages)
            for m, n, k, warps, stages in product(*SPACE)
            if m * n <= MOST_ACCUMULATORS * 32 * warps
        ]
        chosen = random.Random(36).sample(space, configs)
        lines = [
            f'    triton.Config({{"BLOCK_M": {m}, "BLOCK_N": {n}, "BLOCK_K": {k}, "GROUP_M": 8}}, '
            f"num_warps={warps}, num_stages={stages}),"
            for m, n, k, warps, stages in chosen
        ]
        text = re.sub(
            r"^CONFIGS = \[.*?^\]$",
            "\n".join(["CONFIGS = [", *lines, "]"]),
            SAMPLE.read_text(),
            flags=re.M | re.S,
        )
        source = folder / "matmul_of_many_configs.py"
        source.write_text(text)
        compile_file(source, target, SIGNATURE, jobs, path)
    return path


def compare(path: Path, counts: Counter[str]) -> None:
    """Count the variants of a capture, and print those on which the verdicts differ."""
    with Workspace(path) as workspace:
        read = partial(partial, workspace.contents.find)
        for variant in workspace.variants:
            binary = "cubin" if variant.target.backend == "cuda" else "amdgcn"
            content = workspace.contents.find(variant, binary) if variant.failure is None else None
            if content is None:
                counts["not compiled"] += 1
                continue
            fits = (fits_cuda if binary == "cubin" else fits_amd)(variant, content)
            verdict = why_not_launchable(variant, read)
            counts["fits" if fits else "does not fit"] += 1
            if fits != (verdict is None):
                counts["disagreements"] += 1
                print(f"{variant.target} {variant.config}: fits: {fits}, irscope: {verdict}")


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--configs", type=int, default=200, help="configs per target (200)")
    parser.add_argument("--jobs", type=int, default=2, help="processes to compile with (2)")
    parser.add_argument("captures", type=Path, nargs="*", help="compare these captures instead")
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    targets = list(dict.fromkeys(rates.target for rates in DEVICES.values()))
    args.folder.mkdir(parents=True, exist_ok=True)
    for path in args.captures or (
        compiled(args.folder, target, args.configs, args.jobs) for target in targets
    ):
        compare(path, counts)
    print(", ".join(f"{count:,} {kind}" for kind, count in counts.items()))
    sys.exit(bool(counts["disagreements"]))


if __name__ == "__main__":
    main()
