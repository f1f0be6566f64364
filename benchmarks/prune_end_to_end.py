"""Tunes five kernels with all configs, `irscope.fits` and `irscope.prune`: time to the first result, speed.

    python benchmarks/prune_end_to_end.py [--configs 48] [--top 0.1] [--only matmul attention] [--output FILE]

Needs a GPU (under `irscope run` it shows what would be measured). Each way runs in a process of its own, with
an empty Triton cache. The time to the first result is that of the first call: generating, compiling and
measuring. Then the configs that the ways have chosen are measured again, in turns, in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

WAYS = ("prune", "plain", "fits")


def tune(way: str, options: argparse.Namespace) -> None:
    """Tunes each kernel in this process; prints a JSON line per kernel."""
    import torch
    import triton
    from end_to_end_kernels import tuned

    import irscope

    functions = {"plain": None, "fits": irscope.fits(), "prune": irscope.prune(options.top)}
    prune = {"early_config_prune": functions[way]} if functions[way] else None
    for name, own in tuned(options.configs).items():
        if options.only and name not in options.only:
            continue
        tuner = triton.autotune(own.configs, key=[], prune_configs_by=prune)(own.kernel)
        arguments = own.launch()
        torch.cuda.synchronize()
        start = time.perf_counter()
        tuner[own.grid](*arguments)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        measured = len(getattr(tuner, "configs_timings", ())) or 1
        best = own.configs.index(tuner.best_config)
        print(
            json.dumps({"kernel": name, "way": way, "seconds": seconds, "measured": measured, "best": best})
        )
        sys.stdout.flush()


def speeds(results: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, dict[int, float]]:
    """The milliseconds of each chosen config, by kernel and the config's number: the median of five turns."""
    import triton
    from end_to_end_kernels import tuned

    times: dict[str, dict[int, float]] = {}
    for name, own in tuned(options.configs).items():
        chosen = sorted({result["best"] for result in results if result["kernel"] == name})
        arguments = own.launch() if chosen else ()
        runs: dict[int, list[float]] = {number: [] for number in chosen}
        for _ in range(5):
            for number in chosen:
                given = own.configs[number].all_kwargs()
                runs[number].append(
                    triton.testing.do_bench(
                        lambda a=arguments, g=given, o=own: o.kernel[o.grid](*a, **g), warmup=10, rep=40
                    )
                )
        times[name] = {number: statistics.median(found) for number, found in runs.items()}
    return times


def run_way(way: str, deadline: float) -> list[dict[str, Any]]:
    """The results of one way, in a process with an empty cache; those it has at the deadline."""
    results = []
    with tempfile.TemporaryDirectory() as cache:
        process = subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:], "--way", way],
            env=os.environ | {"TRITON_CACHE_DIR": cache, "IRSCOPE_VERBOSE": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        timer = threading.Timer(max(deadline - time.monotonic(), 0), process.kill)
        timer.start()
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if line.startswith("{"):
                results.append(json.loads(line))
        process.wait()
        timer.cancel()
    return results


def report(
    results: list[dict[str, Any]], times: dict[str, dict[int, float]], options: argparse.Namespace
) -> None:
    """Prints a line per kernel and way, and the geometric means against plain autotuning."""
    by_key = {(result["kernel"], result["way"]): result for result in results}
    ratios: dict[str, list[tuple[float, float]]] = {}
    print(f"{os.cpu_count()} cores; {options.configs} configs per kernel")
    print(f"{'kernel':15}{'way':8}{'measured':>9}{'first result':>14}{'ms':>9}{'speed':>8}{'faster':>8}")
    for (kernel, way), result in sorted(by_key.items()):
        plain = by_key.get((kernel, "plain"), result)
        ms, plain_ms = times[kernel][result["best"]], times[kernel][plain["best"]]
        speed, faster = plain_ms / ms, plain["seconds"] / result["seconds"]
        ratios.setdefault(way, []).append((speed, faster))
        line = f"{kernel:15}{way:8}{result['measured']:9}{result['seconds']:12.1f} s"
        print(f"{line}{ms:9.4f}{speed:8.3f}{faster:7.1f}x")
    for way, found in ratios.items():
        speed, faster = (statistics.geometric_mean(column) for column in zip(*found, strict=True))
        total = sum(result["seconds"] for (_, own), result in by_key.items() if own == way)
        print(f"{way}: {total:.1f} s in all, geometric means: {faster:.1f}x faster, {speed:.3f} of the speed")


def main() -> None:
    parser = argparse.ArgumentParser(description="Tunes five kernels three ways.")
    parser.add_argument("--configs", type=int, default=48, help="configs per kernel")
    parser.add_argument("--top", type=float, default=0.1)
    parser.add_argument("--only", nargs="+", default=[], help="kernels")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--seconds", type=float, default=1e6, help="tune for at most SECONDS")
    parser.add_argument("--output", type=Path, help="write the results as JSON")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        tune(options.way, options)
        return
    deadline = time.monotonic() + options.seconds
    results = [result for way in options.ways for result in run_way(way, deadline)]
    if options.output:
        options.output.write_text(json.dumps(results))
    times = speeds(results, options)
    if options.output:
        options.output.write_text(json.dumps({"results": results, "ms": times}))
    report(results, times, options)


if __name__ == "__main__":
    main()
