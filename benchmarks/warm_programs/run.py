"""Serves public programs from warm folders on a GPU: python benchmarks/warm_programs/run.py CORPUS WORK.

Needs a GPU. CORPUS has a folder per library of programs.toml; WORK gets the scripts, captures, caches and
folders. Three phases; programs run in parallel in the first two, where nothing is timed:

1. own    each program on the GPU under `irscope run`, with a cache of its own that it fills: the machine's
          own full cache, and a capture with the choices of its autotuners
2. warm   with the GPU hidden, `irscope warm PROGRAM --pins PINS`: what a build machine does
3. timed  each program in new processes, alternating between the two caches (measure.py)

Asked of the first request with the warm folder: 0 compilations, runs of ptxas and the C compiler, and
benchmarks, and at most 1.2 of the time with the machine's own full cache. `--results FILE` writes JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).resolve().parent
MAIN = '\nif __name__ == "__main__":\n    call()\n    torch.cuda.synchronize()\n'
COUNTED = ("compiled", "ptxas", "cc", "benchmarks")


@dataclass
class Program:
    """A program and where its files are; `lines` are what went wrong."""

    name: str
    script: Path
    paths: list[str]
    note: str
    work: Path
    seconds: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def stem(self) -> str:
        """The name of its files."""
        return self.script.stem

    def folder(self, kind: str) -> Path:
        """Its cache: "own" or "warm"."""
        return self.work / kind / self.stem

    @property
    def capture(self) -> Path:
        """The capture of its run on the GPU."""
        return self.work / "captures" / f"{self.stem}.irscope"

    def environment(self, kind: str, **more: str) -> dict[str, str]:
        """The environment of production, with one of the caches."""
        path = os.pathsep.join([*self.paths, os.environ.get("PYTHONPATH", "")])
        cache = {"TRITON_CACHE_DIR": str(self.folder(kind)), "TRITON_CACHE_AUTOTUNING": "1"}
        return {**os.environ, "PYTHONPATH": path, **cache, **more}

    def run(self, phase: str, command: list[str], environment: dict[str, str], limit: float) -> int:
        """Runs a command and keeps the end of its output if it fails; returns its exit code."""
        start = time.monotonic()
        log = self.work / f"{self.stem}.{phase}.log"
        with log.open("w") as output:
            try:
                done = subprocess.run(
                    command, env=environment, stdout=output, stderr=output, timeout=limit, check=False
                )
                code = done.returncode
            except subprocess.TimeoutExpired:
                code = 124
        self.seconds[phase] = time.monotonic() - start
        if code:
            end = log.read_text(errors="replace").splitlines()[-3:]
            self.lines.append(f"{phase}: exit code {code}: {' / '.join(end)}")
        return code


def programs(corpus: Path, work: Path, only: str) -> list[Program]:
    """The programs, whose scripts are written into the work folder."""
    found = []
    for each in tomllib.loads((HERE / "programs.toml").read_text())["programs"]:
        if only not in each["name"]:
            continue
        stem = re.sub(r"\W+", "_", each["name"]).strip("_").lower()[:40]
        script = work / "scripts" / f"{stem}.py"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(each["code"] + MAIN)
        folder = corpus / each["folder"]
        paths = [str(folder / path) if path else str(folder) for path in each.get("paths", [""])]
        found.append(Program(each["name"], script, paths, each.get("note", ""), work))
    return found


def fill_own_cache(program: Program, limit: float) -> None:
    """Runs the program on the GPU until nothing is left to compile or to measure."""
    program.capture.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "irscope", "run", "-o", str(program.capture), str(program.script)]
    program.run("own", command, program.environment("own"), limit)


def build_folder(program: Program, limit: float, target: str, pins: bool) -> None:
    """Builds the warm folder without a GPU."""
    command = [sys.executable, "-m", "irscope", "warm", str(program.script)]
    command += ["--target", target, "-o", str(program.folder("warm")), "-j", "2"]
    if pins and program.capture.exists() and (file := pin_file(program)) is not None:
        command += ["--pins", str(file)]
    environment = program.environment("warm", CUDA_VISIBLE_DEVICES="")
    program.run("warm", command, environment, limit)
    if not pins:
        copy_results(program)


def pin_file(program: Program) -> Path | None:
    """The choices of the autotuners as a pin file; None if the program has none."""
    file = program.capture.with_suffix(".toml")
    command = [sys.executable, "-m", "irscope", "warm", "--write-pins", str(file), str(program.capture)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "no autotuned choice" not in done.stderr:
        program.lines.append(f"pins: {done.stderr.strip().splitlines()[-1]}")
    return file if file.exists() else None


def copy_results(program: Program) -> None:
    """Copies the tuning results of the machine's own cache, which Triton wrote, into the warm folder."""
    for file in program.folder("own").glob("*/*.autotune.json"):
        to = program.folder("warm") / file.parent.name
        to.mkdir(exist_ok=True)
        shutil.copy(file, to)


def measure(program: Program, kind: str, round_: int) -> dict[str, Any] | None:
    """The first request in a new process with one of the caches; None if it failed."""
    result = program.work / f"{program.stem}.{kind}{round_}.json"
    command = [sys.executable, str(HERE / "measure.py"), str(program.script), str(result)]
    if program.run(f"{kind}{round_}", command, program.environment(kind), 120):
        return None
    found: dict[str, Any] = json.loads(result.read_text())
    return found


def check(program: Program) -> str:
    """The messages of `irscope warm --check` for the program with the warm folder."""
    command = [sys.executable, "-m", "irscope", "warm", "--check", str(program.script)]
    command += ["-o", str(program.folder("warm"))]
    done = subprocess.run(
        command, env=program.environment("warm"), capture_output=True, text=True, check=False, timeout=120
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("irscope:")]
    return "\n".join(lines or done.stderr.splitlines()[-1:])


def in_parallel(work: Callable[[Program], object], all_: Iterable[Program], threads: int) -> list[Any]:
    """Calls `work` with each program in threads."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, all_))


def timed(program: Program, rounds: int) -> dict[str, Any]:
    """The counts of the first request with the warm folder, and both times."""
    runs: dict[str, list[dict[str, Any]]] = {"warm": [], "own": []}
    for round_ in range(rounds):
        for kind, found in runs.items():
            if (run := measure(program, kind, round_)) is not None:
                found.append(run)
    if not (runs["warm"] and runs["own"]):
        return {"name": program.name, "failed": program.lines}
    warm, own = (min(run["first"] for run in found) for found in runs.values())
    first = runs["warm"][0]
    return {
        "name": program.name,
        "note": program.note,
        **{name: first[name] for name in COUNTED},
        "kernels": first["hits"],
        "warm": warm,
        "own": own,
        "own_counts": {name: runs["own"][0][name] for name in COUNTED},
        "steady": statistics.median(run["second"] for found in runs.values() for run in found),
        "all": {kind: [run["first"] for run in found] for kind, found in runs.items()},
        "seconds": program.seconds,
        "lines": program.lines,
    }


def row(result: dict[str, Any]) -> str:
    """A line of the table."""
    if "failed" in result:
        return f"{result['name'][:56]:56}  FAILED {'; '.join(result['failed'])[:300]}"
    counts = "  ".join(f"{result[name]:>8}" for name in COUNTED)
    ratio = result["warm"] / result["own"]
    times = f"{result['warm']:8.3f}  {result['own']:8.3f}  {ratio:5.2f}"
    return f"{result['name'][:56]:56}  {result['kernels']:>7}  {counts}  {times}"


def main() -> int:
    """Runs the phases and prints the table; returns 1 if a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--no-pins", action="store_true", help="copy Triton's own tuning results instead")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=12)
    parser.add_argument("--timers", type=int, default=1, help="programs that are timed at once")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds per program and phase")
    parser.add_argument("--results", type=Path)
    args = parser.parse_args()
    found = programs(args.corpus.resolve(), args.work.resolve(), args.only)
    start = time.monotonic()

    def prepare(program: Program) -> None:
        fill_own_cache(program, args.limit)
        build_folder(program, args.limit, args.target, not args.no_pins)
        times = ", ".join(f"{phase} {seconds:.0f} s" for phase, seconds in program.seconds.items())
        print(f"{time.monotonic() - start:4.0f} s  {program.name}: {times}", *program.lines, flush=True)

    in_parallel(prepare, found, args.threads)
    results = in_parallel(lambda each: timed(each, args.rounds), found, args.timers)
    header = "  ".join(f"{name:>8}" for name in COUNTED)
    print(f"{'program':56}  {'kernels':>7}  {header}  {'warm s':>8}  {'own s':>8}  ratio")
    for result in results:
        print(row(result), flush=True)
    if args.results:
        args.results.write_text(json.dumps(results, indent=1))
    for result, said in zip(results, in_parallel(check, found, args.threads), strict=True):
        print(f"{result['name']}\n{said}", flush=True)
    print(f"all: {time.monotonic() - start:.0f} s")
    return int(any(any(result.get(name) for name in COUNTED) or "failed" in result for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
