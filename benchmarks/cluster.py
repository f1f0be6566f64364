"""Measures sweeps on a Dask cluster of this machine: throughput, and what killed workers cost.

    python -m benchmarks.cluster [--variants 48] [--rounds 3] [--kills 60] [--seconds 5]

Starts a scheduler and workers of one thread on 127.0.0.1. First, the same sweep on one worker and on two, in
turns, each with a cold Triton cache: variants per minute of the workers, from the first job to the last. Then
a sweep on four workers, one of which is killed every few seconds with its process that restarts it; another
is started in its place. Every variant has to be in the capture once, and equal to one compiled here.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.compile_commands import compile_matmul
from irscope.store import CaptureReader
from tests.cluster.local_cluster import local_cluster

AXES = {
    "BLOCK_M": (64, 128),
    "BLOCK_N": (64, 128, 256),
    "BLOCK_K": (32, 64),
    "num_warps": (4, 8),
    "num_stages": (3, 4),
    "GROUP_M": (8, 4, 2, 16, 1, 32, 64, 3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18),
}
_RATE = re.compile(r": (\d+) variants?, (\d+) per minute")


def command(variants: int, output: Path, *options: str) -> list[str]:
    """Return a sweep of about so many variants of the matmul sample."""
    axes = dict(AXES)
    if variants <= 12:
        axes |= {"BLOCK_K": (32,), "num_stages": (3,)}
    others = 2 * 3 * 2 * 2 * 2
    axes["GROUP_M"] = AXES["GROUP_M"][: max(1, -(-variants // others))]
    return [*compile_matmul(output, axes), *options]


def throughput(folder: Path, workers: int, variants: int) -> float:
    """Variants per minute of all workers together, from a worker's first job to its last."""
    cache = folder / f"cache{workers}"
    shutil.rmtree(cache, ignore_errors=True)
    with local_cluster(folder / f"workers{workers}", workers, cache) as cluster:
        time.sleep(4)  # all have joined
        words = command(variants, folder / "t.irscope", "--cluster", cluster.address)
        result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr)
    rates = [(int(jobs), int(rate)) for jobs, rate in _RATE.findall(result.stderr)]
    seconds = max(60 * jobs / rate for jobs, rate in rates)
    return 60 * sum(jobs for jobs, _ in rates) / seconds


def kill_campaign(folder: Path, variants: int, seconds: float, workers: int = 4) -> tuple[int, list[str]]:
    """Compiles a sweep while workers are killed; how many were, and what is wrong with the capture."""
    rng = random.Random(1)
    here, there = folder / "here.irscope", folder / "there.irscope"
    cold = {"TRITON_CACHE_DIR": str(folder / "cache-here")}
    subprocess.run(command(variants, here), check=True, stdout=subprocess.DEVNULL, env=os.environ | cold)
    killed, cache = 0, folder / "cache-kills"
    with local_cluster(folder / "kills", workers, cache) as cluster:
        words = command(variants, there, "--cluster", cluster.address)
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            for _ in itertools.count():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)
                    break
                cluster.kill_worker(rng.randrange(len(cluster.workers)))
                killed += 1
                cluster.start_worker(cache)
    return killed, differences(here, there)


def differences(here: Path, there: Path) -> list[str]:
    """What a capture lacks, has twice or has differently than the one that was compiled here."""
    with CaptureReader(here) as ours, CaptureReader(there) as theirs:
        expected = {str(v.config): v for v in ours.variants()}
        found = theirs.variants()
        problems = [f"{name} is missing" for name in expected.keys() - {str(v.config) for v in found}]
        if len({str(v.config) for v in found}) != len(found):
            problems.append("a variant is there twice")
        for variant in found:
            one = expected.get(str(variant.config))
            if one is None or variant.failure != one.failure or variant.artifacts != one.artifacts:
                problems.append(f"{variant.config} differs: {variant.failure}")
    return problems


def main() -> None:
    """Prints both figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--variants", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--kills", type=int, default=192, help="variants of the sweep with killed workers; 0: none"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="between two kills")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="irscope-cluster-benchmark-"))
    try:
        rates: dict[int, list[float]] = {1: [], 2: []}
        for turn in range(args.rounds):
            for workers, found in rates.items():
                found.append(throughput(folder, workers, args.variants))
            load = os.getloadavg()[0]
            one, two = rates[1][turn], rates[2][turn]
            print(f"round {turn + 1}: 1 worker {one:.0f}/min, 2 workers {two:.0f}/min, {two / one:.2f}x"
                  f" (load {load:.1f})", flush=True)  # fmt: skip
        if args.rounds:
            best = {workers: max(found) for workers, found in rates.items()}
            print(f"2 workers compile {best[2] / best[1]:.2f} times as fast as 1 (best of each)")
        if args.kills:
            killed, problems = kill_campaign(folder, args.kills, args.seconds)
            print(f"4 workers, {killed} killed: {len(problems)} problems")
            print("".join(f"  {problem}\n" for problem in problems[:10]), end="")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
