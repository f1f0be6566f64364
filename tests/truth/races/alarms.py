"""Counts the races that irscope reports in the launches of tests/truth/bits, which have none.

    python -m tests.truth.races.alarms [--configs N] [GLOB ...]
    python -m tests.truth.races.alarms --all-rules PATH ...

Prints each report, then how many launches were executed, how many of them whole, and how long it took.
`--all-rules` prints what all rules report about public libraries, to be read by hand: their source folders,
and captures of their kernels. Then, for each path, the kernels, variants, launches, and reports by rule.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from irscope.interpreting.races import Race, barrier_lines, launch_races
from irscope.interpreting.stage_program import StageProgram
from irscope.languages.mlir.parser import parse
from irscope.workspace.linting import lint
from irscope.workspace.workspace import Workspace
from tests.truth.bits.predict import FILES, LATER, Measured, machine_launch, measured

_JIT = re.compile(r"^[ \t]*@(?:triton\.|gluon\.)?jit\b", re.MULTILINE)


@dataclass(frozen=True)
class Checked:
    """What irscope says of one launch: reports, cases that it did not decide, and how much was executed."""

    kernel: str
    reports: tuple[str, ...]
    undecided: tuple[str, ...]
    executed: int
    programs: int
    seconds: float


def checked(launch: Measured) -> Checked:
    """Return what irscope says of a launch. Without LLVM IR, any operation that can be a barrier is one."""
    document = parse(launch.ttgir)
    start = time.process_time()
    program = StageProgram(document, launch.triton)
    found = launch_races(program, machine_launch(launch, program), barrier_lines(document, None))
    decided = [_text(race) for race in found.races if not race.undecided]
    undecided = [race.undecided for race in found.races if race.undecided]
    if found.unanswered is not None:
        undecided.append(found.unanswered.reason)
    undecided += ["an address depends on data" for _ in found.unknown]
    seconds = time.process_time() - start
    return Checked(
        f"{launch.kernel} {dict(launch.config)}",
        tuple(decided),
        tuple(undecided),
        found.executed,
        found.programs,
        seconds,
    )


def _text(race: Race) -> str:
    sides = (
        f"{side.access.kind} line {side.access.step.line} {side.index}" for side in (race.first, race.second)
    )
    return f"{race.kind}: {' and '.join(sides)}"


def answers(patterns: list[str], most: int, processes: int) -> Iterator[Checked]:
    """Yield what irscope says of each launch."""
    launches = [launch for file in (*FILES, *LATER) for launch in measured(file, patterns, most)]
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(checked, launches, chunksize=4)


def print_reports(path: Path) -> None:
    """Print what all rules report about a folder of sources or a capture, and count it."""
    start = time.process_time()
    result = lint([path])
    seconds = time.process_time() - start
    for problem in result.problems:
        print(f"{problem.file}:{problem.line}: {problem.rule.code} {problem.message}")
    if path.suffix == ".irscope":
        with Workspace(path) as workspace:
            compiled = [variant for variant in workspace.variants if variant.failure is None]
        launches = sum(len(variant.launches) for variant in compiled)
        names = {(variant.kernel.name, variant.kernel.source.file) for variant in compiled}
        counted = f"{len(names)} kernels, {len(compiled)} variants, {launches} launches"
    else:
        kernels = sum(len(_JIT.findall(Path(name).read_text())) for name in result.paths)
        counted = f"{result.files} files, {kernels} kernels"
    by_rule = Counter(problem.rule.code for problem in result.problems)
    print(f"{path}: {counted}, reports: {dict(by_rule)}, {seconds:.1f} s", flush=True)


def main() -> None:
    """Print the reports, and the figures."""
    parser = argparse.ArgumentParser("python -m tests.truth.races.alarms")
    parser.add_argument("names", nargs="*", default=["*"], metavar="GLOB", help="only these kernels")
    parser.add_argument(
        "--configs", type=int, default=1 << 30, help="at most so many launches of each kernel"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--all-rules", nargs="+", type=Path, metavar="PATH", help="folders and captures instead"
    )
    options = parser.parse_args()
    if options.all_rules:
        for path in options.all_rules:
            print_reports(path)
        return
    kernels: set[str] = set()
    undecided: Counter[str] = Counter()
    launches = whole = reports = 0
    seconds: list[float] = []
    for answer in answers(options.names, options.configs, options.jobs):
        kernels.add(answer.kernel.partition(" ")[0])
        launches += 1
        whole += answer.executed == answer.programs
        reports += bool(answer.reports)
        undecided.update(set(answer.undecided))
        seconds.append(answer.seconds)
        for text in answer.reports:
            print(f"{answer.kernel}: {text}", flush=True)
    seconds.sort()
    print(
        f"{len(kernels)} kernels, {launches} launches, {whole} of them executed whole: {reports} with "
        f"reports; {seconds[len(seconds) // 2]:.2f} s per launch (median), {seconds[-1]:.2f} s at most"
    )
    for reason, count in undecided.most_common():
        print(f"not decided in {count}: {reason}")


if __name__ == "__main__":
    main()
