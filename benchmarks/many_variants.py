"""Compiles a sweep of 10,000 small variants and measures the memory of irscope and its workers meanwhile.

    python -m benchmarks.many_variants [--variants 10000] [--output FILE]

The kernel is an elementwise one; ten values of num_stages give equal TTGIR, as in most such sweeps.
Prints CPU seconds, the peak memory of the process that writes and of a worker in each quarter of the sweep,
and CPU seconds of opening the capture with its facts. --output keeps it, for benchmarks/app_scale.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.compile_commands import compile_command
from benchmarks.processes import run

KERNEL = """import triton
import triton.language as tl


@triton.jit
def shifted(x_ptr, out_ptr, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets + SHIFT, mask=offsets < n)
    tl.store(out_ptr + offsets, x * SHIFT, mask=offsets < n)
"""
OPEN = """import time
from irscope.workspace import Workspace
start = time.process_time()
capture = Workspace({path!r})
print(time.process_time() - start)
facts = capture.all_facts()
print(time.process_time() - start)
assert len(capture.contents.facts(capture.variants)) == len(capture.variants)
"""


def command(variants: int, output: Path) -> list[str]:
    """The sweep: BLOCK, num_warps and num_stages, and as many shifts as are needed."""
    shifts = max(1, variants // (5 * 4 * 10))
    axes = {
        "BLOCK": (64, 128, 256, 512, 1024),
        "num_warps": (1, 2, 4, 8),
        "num_stages": range(1, 11),
        "SHIFT": range(shifts),
    }
    return compile_command("shifted.py", axes, output, "--signature", "*fp32:16, *fp32:16, i32")


def family(process: int) -> list[int]:
    """The process and its descendants."""
    found, pending = [], [process]
    while pending:
        one = pending.pop()
        found.append(one)
        try:
            pending += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except OSError:
            continue
    return found


def megabytes(process: int) -> float:
    """The private and shared memory of a process that is in RAM."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError):
        return 0.0


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--variants", type=int, default=10_000)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="irscope-many-") as name:
        folder = Path(name)
        (folder / "shifted.py").write_text(KERNEL)
        output = (args.output or folder / "many.irscope").absolute()
        environment = os.environ | {"TRITON_CACHE_DIR": str(folder / "cache")}
        start, samples = time.perf_counter(), list[tuple[float, float, float]]()
        with subprocess.Popen(command(args.variants, output), cwd=folder, env=environment) as process:
            while process.poll() is None:
                time.sleep(0.5)
                parent, *others = map(megabytes, family(process.pid))
                samples.append((time.perf_counter() - start, parent, max(others, default=0.0)))
        used = os.times()
        print(f"{samples[-1][0]:.0f} s, {used.children_user + used.children_system:.0f} s CPU")
        for quarter in range(4):
            part = samples[quarter * len(samples) // 4 : (quarter + 1) * len(samples) // 4] or samples[-1:]
            parent, worker = (max(sample[place] for sample in part) for place in (1, 2))
            print(f"quarter {quarter + 1}: irscope {parent:.0f} MB, the largest worker {worker:.0f} MB")
        size = output.stat().st_size / 2**20
        result = run([sys.executable, "-c", OPEN.format(path=str(output))])
        opened, facts = map(float, result.output.split())
        print(f"capture: {size:.0f} MB; open {opened:.2f} s CPU, with all facts {facts:.2f} s CPU")


if __name__ == "__main__":
    main()
