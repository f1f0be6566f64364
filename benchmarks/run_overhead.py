"""Measures the overhead of recording on a GPU: a program without irscope, twice, and under `irscope run`.

    python -m benchmarks.run_overhead [--rounds N] [--also CHECKOUT...]

The program times its own compilations (24 of a matmul, an empty cache each time) and launches that compile
nothing (20 batches of 500). The difference between the two runs without irscope is the noise of the
measurement. CHECKOUTs are other versions of irscope to compare with. On an H200, each of these runs takes
15 s per round. Prints the figures after every round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import ROOT, run

BATCHES, BATCH = 20, 500
PROGRAM = """
import itertools, json, statistics, sys, time
import torch, triton
sys.path.insert(0, {samples!r})
from matmul import matmul_kernel

kernel = matmul_kernel.fn
a = torch.randn((512, 512), device="cuda", dtype=torch.float16)
c = torch.empty_like(a)
configs = list(itertools.product((32, 64, 128), (32, 64), (32, 64), (4, 8)))


def launch(m, n, k, warps):
    kernel[(triton.cdiv(512, m) * triton.cdiv(512, n),)](
        a, a, c, 512, 512, 512, 512, 1, 512, 1, 512, 1,
        BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=8, num_warps=warps)


def timed(times, config):
    begin = time.perf_counter()
    for _ in range(times):
        launch(*config)
    seconds = time.perf_counter() - begin
    torch.cuda.synchronize()
    return seconds


launch(16, 16, 16, 4)  # one-time costs: the driver, hashing libtriton
torch.cuda.synchronize()
begin = time.process_time()
compiling = [timed(1, config) for config in configs]
cpu = time.process_time() - begin
time.sleep(1)  # the capture is written by now
launching = [timed({batch}, configs[0]) / {batch} for _ in range({batches} + 5)][5:]
print(json.dumps([compiling, cpu, statistics.median(launching) * 1e6, min(launching) * 1e6]))
"""


class Times(NamedTuple):
    """The times of a process: s per compilation, total CPU s, us per launch (median and fastest batch)."""

    compiling: list[float]
    cpu: float
    launch: float
    least: float


def once(script: Path, capture: Path, checkout: Path | None) -> Times:
    """The program's times, recorded by the irscope of `checkout` (None: without irscope)."""
    words = ["-m", "irscope", "run", "--force", "-o", str(capture)] if checkout else []
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"TRITON_CACHE_DIR": cache}
        if checkout:
            environment["PYTHONPATH"] = os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])
        used = run([sys.executable, *words, script], environment=environment, cwd=script.parent)
    return Times(*json.loads(used.output.splitlines()[-1]))


def compile_seconds(rounds: list[Times]) -> float:
    """The sum of each compilation's median over the rounds: a slow moment of the machine counts once."""
    medians = [
        float(statistics.median(each)) for each in zip(*(times.compiling for times in rounds), strict=True)
    ]
    return sum(medians)


MEASURES: tuple[tuple[str, Callable[[list[Times]], float]], ...] = (
    ("24 compilations, s wall", compile_seconds),
    ("24 compilations, s CPU", lambda rounds: statistics.median(times.cpu for times in rounds)),
    ("a launch, us, median", lambda rounds: statistics.median(times.launch for times in rounds)),
    ("a launch, us, least", lambda rounds: statistics.median(times.least for times in rounds)),
)


def report(measured: dict[str, list[Times]]) -> None:
    """Prints each measure of each way of running, and its difference from the first."""
    first = next(iter(measured.values()))
    for what, measure in MEASURES:
        print(what)
        for name, rounds in measured.items():
            change = measure(rounds) / measure(first) - 1
            each = [measure([r]) / measure([f]) - 1 for r, f in zip(rounds, first, strict=True)]
            spread = f"{min(each):+.1%} to {max(each):+.1%}"
            print(f"  {name:<18}{measure(rounds):9.3f}  {change:+.2%}   rounds {spread}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--also", metavar="CHECKOUT", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    ways: dict[str, Path | None] = {"without": None, "without again": None, "recorded": ROOT}
    ways |= {f"recorded, {checkout.name}": checkout.resolve() for checkout in args.also}
    measured: dict[str, list[Times]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "program.py")
        script.write_text(PROGRAM.format(samples=str(ROOT / "samples"), batch=BATCH, batches=BATCHES))
        for number in range(args.rounds):
            turned = list(ways)[number % len(ways) :] + list(ways)[: number % len(ways)]
            for name in turned:
                measured[name].append(once(script, Path(folder, "x.irscope"), ways[name]))
            print(f"\nafter {number + 1} of {args.rounds} rounds", flush=True)
            report(measured)


if __name__ == "__main__":
    main()
