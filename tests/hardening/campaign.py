"""The campaign: damaged input of every kind, in child processes, with limits of time and memory.

    python -m tests.hardening.campaign --cases 1000000
    python -m tests.hardening.campaign --area imports --case 1234      # one case again, with its traceback

Prints, per area, the cases, the exceptions, the slowest case and the peak memory; exits with 1 if a case
raised, wrote outside of its folder, took more than 5 s of CPU time, or more than 500 MB. `make fuzz` runs it.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.hardening.areas import AREAS, NAMED, generator
from tests.hardening.outside import OutsideWrites

MAX_SECONDS, MAX_MEGABYTES = 5.0, 500
# The seconds of CPU time, and of time, after which a case is interrupted.
_INTERRUPTED, _WAITS = 30, 300
# The cases of one child process: a new one then shows which cases need memory.
_CHUNK = 500
_SHOWN = 5


@dataclass
class Result:
    """The outcome of some cases of one area; `failed` has number and traceback of each that raised."""

    area: str
    cases: int = 0
    failed: list[tuple[int, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    megabytes: tuple[float, int] = (0.0, -1)

    def add(self, other: Result) -> None:
        """Adds the outcome of more cases."""
        self.cases += other.cases
        self.failed += other.failed
        self.slowest = max(self.slowest, other.slowest)
        self.megabytes = max(self.megabytes, other.megabytes)

    @property
    def sound(self) -> bool:
        """Whether every case kept within the limits."""
        return not self.failed and self.slowest[0] <= MAX_SECONDS and self.megabytes[0] <= MAX_MEGABYTES


class NoEndError(Exception):
    """A case took more than 30 s of CPU time, or waited for what never came."""


class OutsideError(AssertionError):
    """A case wrote outside of its folder."""


def run_cases(area: str, seed: int, numbers: range) -> Result:
    """Runs cases in this process."""
    result = Result(area)
    signal.signal(signal.SIGPROF, _interrupt)
    signal.signal(signal.SIGALRM, _interrupt)
    scratch = Path(tempfile.mkdtemp(prefix="irscope-campaign-")).resolve()
    for name in ("cache", "temporary", "cases"):
        (scratch / name).mkdir()
    os.environ["IRSCOPE_CACHE"] = os.environ["IRSCOPE_STATE"] = str(scratch / "cache")
    # Child processes have it too.
    os.environ["TMPDIR"] = tempfile.tempdir = str(scratch / "temporary")
    outside = OutsideWrites()
    base = _peak_megabytes()
    for number in numbers:
        start, before = time.process_time(), _peak_megabytes()
        signal.setitimer(signal.ITIMER_PROF, _INTERRUPTED)
        signal.alarm(_WAITS)
        folder = scratch / "cases" / str(number)
        folder.mkdir()
        outside.allowed = tuple(f"{place}{os.sep}" for place in (folder, scratch / "cache", tempfile.tempdir))
        try:
            NAMED[area].run(generator(area, seed, number), folder)
            if places := outside.take():
                raise OutsideError(places[:_SHOWN])
        except Exception:  # noqa: BLE001 - a bug, which the campaign reports
            result.failed.append((number, traceback.format_exc()))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            outside.allowed = ()
        shutil.rmtree(folder, ignore_errors=True)
        result.cases += 1
        result.slowest = max(result.slowest, (time.process_time() - start, number))
        if (peak := _peak_megabytes()) > before:
            result.megabytes = max(result.megabytes, (peak - base, number))
    shutil.rmtree(scratch, ignore_errors=True)
    return result


def _interrupt(*_: object) -> None:
    raise NoEndError


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << (20 if sys.platform == "darwin" else 10)
    )


def chunks(cases: int, areas: list[str]) -> Iterator[tuple[str, range]]:
    """The cases of each area, a child process at a time."""
    total = sum(NAMED[name].share for name in areas)
    for name in areas:
        count = round(cases * NAMED[name].share / total)
        size = _CHUNK if NAMED[name].share < 0.02 else _CHUNK * 20
        for start in range(0, count, size):
            yield name, range(start, min(start + size, count))


def campaign(cases: int, seed: int, areas: list[str], jobs: int) -> dict[str, Result]:
    """Runs the campaign and returns the outcome by area."""
    results = {name: Result(name) for name in areas}
    with ProcessPoolExecutor(jobs, max_tasks_per_child=1) as pool:
        for future in [pool.submit(run_cases, name, seed, numbers) for name, numbers in chunks(cases, areas)]:
            part = future.result()
            results[part.area].add(part)
            for number, text in part.failed[:_SHOWN]:
                print(f"--area '{part.area}' --seed {seed} --case {number}\n{text}", flush=True)
    return results


def main() -> int:
    """Runs the campaign, or one case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", action="append", choices=[area.name for area in AREAS])
    parser.add_argument("--case", type=int, help="only this one, in this process")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    areas = args.area or [area.name for area in AREAS]
    if args.case is not None:
        result = run_cases(areas[0], args.seed, range(args.case, args.case + 1))
        print(*(text for _, text in result.failed), result.slowest, result.megabytes)
        return 0 if result.sound else 1
    results = campaign(args.cases, args.seed, areas, args.jobs)
    print(f"{'area':<16} {'cases':>9} {'raised':>7} {'slowest':>9} {'(case)':>9} {'memory':>9} {'(case)':>9}")
    for r in results.values():
        print(
            f"{r.area:<16} {r.cases:>9,} {len(r.failed):>7,} {r.slowest[0]:>7.2f} s {r.slowest[1]:>9} "
            f"{r.megabytes[0]:>6.0f} MB {r.megabytes[1]:>9}"
        )
    return 0 if all(result.sound for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
