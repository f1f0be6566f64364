"""Checks on a machine with a GPU that `irscope run` captures every kernel that torch.compile generates.

    python benchmarks/inductor_on_gpu.py [--short] [-o FOLDER] [block|reduction|matmul ...]

Runs the programs of compiled_programs.py with and without irscope, with cold and warm caches of Inductor,
and compares:

- the kernels that Inductor reports (defined in the output codes that TORCH_LOGS=output_code names) with those
  in the capture, by name and source;
- the results, bit by bit, of the runs that share caches: these use the same configs;
- the seconds of each process and the milliseconds of a step.

Exits with 1 if a kernel is missing or a result differs.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from irscope.store.reader import CaptureReader

PROGRAMS = Path(__file__).parent / "compiled_programs.py"
REPORTED = re.compile(r"Output code written to: (\S+\.py)")
KERNEL = re.compile(
    r"^(\w+) = async_compile\.triton\('\w+', '''(.*?)''', device_str", re.MULTILINE | re.DOTALL
)


@dataclass
class Run:
    """One run of the programs: its folder, its kernels as Inductor reports them, and its seconds."""

    folder: Path
    kernels: set[tuple[str, str]]
    seconds: float

    @property
    def results(self) -> dict[str, list[torch.Tensor]]:
        """The tensors by program."""
        return torch.load(self.folder / "results.pt")

    @property
    def times(self) -> dict[str, tuple[float, float]]:
        """The seconds of the first call and the milliseconds of a later one by program."""
        return json.loads((self.folder / "times.json").read_text())


def run(folder: Path, name: str, cache: str, programs: list[str], *command: str) -> Run:
    """Runs the programs in a process of their own."""
    own = folder / name
    own.mkdir()
    variables = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(folder / cache), "TORCH_LOGS": "output_code"}
    # Else the autotuner (2.11) adds a config to the one in its cache and measures both again in each process:
    # which is faster, and so how a reduction rounds, would depend on chance.
    variables["TORCHINDUCTOR_DYNAMIC_SCALE_RBLOCK"] = "0"
    variables.pop("TRITON_CACHE_DIR", None)  # Inductor keeps Triton's entries in its own folder
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command, str(PROGRAMS), str(own), *programs],
        env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    (own / "stderr.txt").write_text(done.stderr)
    lines = done.stderr.splitlines()
    shown = [line for line in lines if line.startswith("irscope:")] if not done.returncode else lines[-12:]
    print(f"{name}: exit code {done.returncode}, {seconds:.1f} s", *shown, sep="\n  ", flush=True)
    files = set(REPORTED.findall(done.stderr))
    return Run(own, {kernel for file in files for kernel in KERNEL.findall(Path(file).read_text())}, seconds)


def check_capture(path: Path, reported: set[tuple[str, str]]) -> list[str]:
    """Prints how much of what Inductor reports is in a capture; returns the kernels that are missing."""
    with CaptureReader(path) as capture:
        variants = capture.variants()
    sources = {(v.kernel.name, v.kernel.source.text.strip()) for v in variants}
    names = {name for name, _ in sources}
    missing = [
        name
        for name, text in reported
        if not any(own == name and source and source in text for own, source in sources)
    ]
    origins = [v for v in variants if v.origin]
    wrappers = {v.artifacts["output_code"].digest for v in variants if "output_code" in v.artifacts}
    timed = [v for v in variants if v.benchmarks]
    print(
        f"  {len(reported) - len(missing)} of {len(reported)} reported kernels captured;"
        f" {len(variants)} variants of {len(names)} kernels;"
        f" {len(origins)} with graph nodes, {sum(bool(v.origin.lines) for v in origins)} with program lines,"
        f" {sum('output_code' in v.artifacts for v in variants)} with output code of {len(wrappers)} graphs,"
        f" {len(timed)} with times, {sum(any(b.chosen for b in v.benchmarks) for v in timed)} chosen,"
        f" {sum(v.origin.configs is not None for v in origins)} chosen by the autotune cache",
        flush=True,
    )
    for name in missing:
        print(f"  missing: {name}{' (other source)' if name in names else ''}")
    return missing


def main() -> int:
    """Prints the comparison; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", default=["block", "reduction", "matmul"])
    parser.add_argument("-o", "--output", type=Path, help="folder for captures, results and logs")
    parser.add_argument("--short", action="store_true", help="without the plain run with cold caches")
    args = parser.parse_args()
    folder = args.output or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    capture = ("-m", "irscope", "run", "-o")
    names, problems = args.programs, 0
    runs = []
    for title in ("cold", "warm"):
        path = folder / f"{title}.irscope"
        runs.append(run(folder, f"irscope, {title} caches", "cache", names, *capture, str(path)))
        problems += len(check_capture(path, runs[-1].kernels))
    runs.append(run(folder, "plain, the same warm caches", "cache", names))
    for case, expected in runs[-1].results.items():
        others = [one.results[case] for one in runs[:-1]]
        equal = all(len(expected) == len(o) and all(map(torch.equal, expected, o)) for o in others)
        problems += not equal
        print(f"results of {case}: {'equal' if equal else 'DIFFERENT'}", flush=True)
    if not args.short:
        runs.append(run(folder, "plain, cold caches", "cache.plain", names))
    print("program: seconds of the first call, milliseconds of a later one, in each of these runs")
    for case in runs[0].times:
        print(f"{case:22}", "  ".join("{:7.2f} s {:8.4f} ms".format(*one.times[case]) for one in runs))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
