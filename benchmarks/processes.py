"""Processes that benchmarks start, and what they use."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
IRSCOPE = (sys.executable, "-m", "irscope")
_RSS_UNITS_PER_MEGABYTE = 1 << (20 if sys.platform == "darwin" else 10)


class Usage(NamedTuple):
    """What a process used, with its children that ended before it, and what it printed."""

    code: int
    wall: float
    cpu: float
    megabytes: float
    output: str
    errors: str


# A process's peak memory includes that of the process that started it, so a small one starts it.
_LAUNCHER = """
import os, sys, time
start = time.perf_counter()
process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(process, 0)
wall = time.perf_counter() - start
with open(sys.argv[1], "w") as file:
    print(os.waitstatus_to_exitcode(status), wall, used.ru_utime + used.ru_stime, used.ru_maxrss, file=file)
"""


def run(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    codes: Sequence[int] | None = (0,),
) -> Usage:
    """Run a command; `environment` replaces this process's.

    Raises SystemExit if the exit code is not one of `codes`; None allows all.
    """
    with tempfile.NamedTemporaryFile("r") as report:
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, report.name]
        done = subprocess.run(
            [*launcher, *command], cwd=cwd, env=environment, capture_output=True, text=True, check=True
        )
        code, wall, cpu, peak = report.read().split()
    megabytes = int(peak) / _RSS_UNITS_PER_MEGABYTE
    usage = Usage(int(code), float(wall), float(cpu), megabytes, done.stdout, done.stderr)
    if codes is not None and usage.code not in codes:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {usage.code}\n{usage.errors[-2000:]}")
    return usage


def peak_megabytes() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _RSS_UNITS_PER_MEGABYTE


def compile_file(source: Path, target: str, signature: str, jobs: int, path: Path) -> None:
    """Write a capture of all configs of a file's kernel; configs that do not compile are in it, too."""
    part = path.with_suffix(".part.irscope")
    part.unlink(missing_ok=True)
    options = ["--target", target, "--signature", signature, "-j", str(jobs), "-o", str(part)]
    subprocess.run([*IRSCOPE, "compile", source, *options], check=False, stdout=sys.stderr)
    part.rename(path)
