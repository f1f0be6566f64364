"""Measures what `irscope warm --check` adds to a program that compiles nothing.

    python -m benchmarks.warm_check_cost [--launches 300000] [--rounds 5]

Runs a program that loads its kernels from a warm cache and launches them, alternating between Python alone
and `--check`; on a GPU, or with the fake libcuda of the tests. Prints CPU and wall-clock seconds of each, and
the time per launch within the program. Asked: under 1 % more.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import ROOT, run

PROGRAM = """
import sys, time
import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

x = torch.zeros(4096, device="cuda")
y = torch.zeros(4096, device="cuda")
launches = int(sys.argv[1])
for block in (64, 128, 256, 512, 1024):
    add_kernel[(4,)](x, y, 4096, BLOCK=block)
start = time.perf_counter()
for _ in range(launches):
    add_kernel[(4,)](x, y, 4096, BLOCK=128)
print((time.perf_counter() - start) / launches * 1e6)
"""


def fake_gpu(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command before the program's, and the environment; those of a GPU if there is one."""
    import torch

    cache = folder / "cache"
    if torch.cuda.is_available():
        return [sys.executable], dict(os.environ) | {"TRITON_CACHE_DIR": str(cache)}
    from tests.fake_gpu import build_libcuda, production_environment

    environment = production_environment(build_libcuda(folder / "libcuda"), cache)
    return [sys.executable, str(ROOT / "tests" / "fake_gpu" / "production.py")], environment


Figures = tuple[float, float, float]


def figures(command: list[str], environment: dict[str, str]) -> Figures:
    """Return the CPU seconds, wall-clock seconds, and microseconds per launch of a run."""
    used = run(command, environment=environment)
    return used.cpu, used.wall, float(used.output.split()[-1])


def main() -> int:
    """Prints the times; returns 1 if the check adds 1 % or more CPU time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        program = folder / "program.py"
        program.write_text(PROGRAM)
        start, environment = fake_gpu(folder)
        plain = [*start, str(program), str(args.launches)]
        check = [sys.executable, "-c", CHECK, " ".join(plain), str(folder / "cache")]
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(ROOT), environment.get("PYTHONPATH", "")])
        )
        run([*start, str(program), "1"], environment=environment)
        runs: dict[str, list[Figures]] = {"plain": [], "check": []}
        for _ in range(args.rounds):
            for name, command in (("plain", plain), ("check", check)):
                runs[name].append(figures(command, environment))
    for index, title in enumerate(("CPU s", "wall s", "us per launch")):
        a, b = ([each[index] for each in runs[name]] for name in ("plain", "check"))
        added = [y - x for x, y in zip(a, b, strict=True)]
        print(
            f"{title:14} plain {min(a):8.3f}  check {min(b):8.3f}  "
            f"{min(b) / min(a) - 1:+.2%} (fastest), "
            f"{statistics.median(added) / statistics.median(a):+.2%} (median of pairs)"
        )
    cpu = [min(each[0] for each in runs[name]) for name in ("plain", "check")]
    return int(cpu[1] >= 1.01 * cpu[0])


# `irscope warm --check` without its argument parser.
CHECK = """
import sys
from pathlib import Path
from irscope.cli.warm import check_programs
sys.exit(check_programs([sys.argv[1]], Path(sys.argv[2])))
"""

if __name__ == "__main__":
    raise SystemExit(main())
