"""Checks on a machine with a GPU that `irscope run` captures every kernel that torch.compile generates.

    python benchmarks/inductor_on_gpu.py [-o FOLDER] [block|reduction|matmul ...]

Runs the programs of inductor_programs.py with and without irscope, each with cold and with warm caches of
Inductor, and compares:

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

PROGRAMS = Path(__file__).parent / "inductor_programs.py"
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
    variables.pop("TRITON_CACHE_DIR", None)  # Inductor keeps Triton's entries in its own folder
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command, str(PROGRAMS), str(own), *programs],
        env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    (own / "stderr.txt").write_text(done.stderr)
    lines = [line for line in done.stderr.splitlines() if "output_code]" not in line]
    print(f"{name}: exit code {done.returncode}, {seconds:.1f} s", *lines[-12:], sep="\n  ", flush=True)
    files = set(REPORTED.findall(done.stderr))
    return Run(own, {kernel for file in files for kernel in KERNEL.findall(Path(file).read_text())}, seconds)


def check_capture(title: str, path: Path, reported: set[tuple[str, str]]) -> list[str]:
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
        f"{title}: {len(reported) - len(missing)} of {len(reported)} reported kernels captured;"
        f" {len(variants)} variants of {len(names)} kernels;"
        f" {len(origins)} with graph nodes, {sum(bool(v.origin.lines) for v in origins)} with program lines,"
        f" {sum('output_code' in v.artifacts for v in variants)} with output code of {len(wrappers)} graphs,"
        f" {len(timed)} with times, {sum(any(b.chosen for b in v.benchmarks) for v in timed)} chosen,"
        f" {sum(v.origin.configs is not None for v in origins)} chosen by the autotune cache"
    )
    for name in missing:
        print(f"  missing: {name}{' (other source)' if name in names else ''}")
    return missing


def main() -> int:
    """Prints the comparison; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", default=["block", "reduction", "matmul"])
    parser.add_argument("-o", "--output", type=Path, help="folder for captures, results and logs")
    args = parser.parse_args()
    folder = args.output or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    cold, warm = folder / "cold.irscope", folder / "warm.irscope"
    irscope = ("-m", "irscope", "run", "-o")
    plain_cold = run(folder, "plain cold", "cache.plain", args.programs)
    plain_warm = run(folder, "plain warm", "cache.plain", args.programs)
    runs = {
        "irscope cold": run(folder, "irscope cold", "cache", args.programs, *irscope, str(cold)),
        "irscope warm": run(folder, "irscope warm", "cache", args.programs, *irscope, str(warm)),
    }
    shared = run(folder, "plain with irscope's caches", "cache", args.programs)
    problems = 0
    for (title, one), path in zip(runs.items(), (cold, warm), strict=True):
        problems += len(check_capture(title, path, one.kernels))
    first = (plain_cold, runs["irscope cold"], plain_warm, runs["irscope warm"])
    print("seconds of the first call, cold: plain, irscope; warm: plain, irscope; then ms of a later call")
    for case, expected in shared.results.items():
        others = [one.results[case] for one in runs.values()]
        equal = all(len(expected) == len(o) and all(map(torch.equal, expected, o)) for o in others)
        problems += not equal
        seconds = " ".join(f"{one.times[case][0]:7.2f}" for one in first)
        later = " ".join(f"{one.times[case][1]:8.4f}" for one in (shared, runs["irscope warm"]))
        print(f"{case:22} {'equal' if equal else 'DIFFERENT':9} {seconds}  {later}")
    print("seconds of the process:", " ".join(f"{one.seconds:.1f}" for one in first))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
