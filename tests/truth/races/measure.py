"""Counts the planted races that `irscope lint` finds, and what it reports about kernels without races.

    python -m tests.truth.races.measure [CAPTURE]

Without a capture, the kernels are compiled for an H100 first. A race counts as found if the rule that a
comment names reports its line; any other report about these kernels is printed.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irscope.lint.diagnostic import Diagnostic
from irscope.workspace.linting import lint
from tests.truth.races.case import Case
from tests.truth.races.launches import cases

_MARK = re.compile(r"#((?:\s+IRS\d+)+)\s*$")
RULES = ("IRS301", "IRS302")


@dataclass(frozen=True)
class Answer:
    """What was reported about a kernel: whether its race was found, and the reports of other lines."""

    case: Case
    planted: frozenset[tuple[str, int]]
    found: tuple[Diagnostic, ...]
    alarms: tuple[Diagnostic, ...]


def planted(case: Case) -> frozenset[tuple[str, int]]:
    """Return the codes and lines that comments in a kernel mark."""
    lines, first = inspect.getsourcelines(case.kernel.fn)
    matches = [(_MARK.search(line), number) for number, line in enumerate(lines, first)]
    return frozenset((code, number) for match, number in matches if match for code in match[1].split())


def capture(output: Path, modules: Sequence[str] = ()) -> None:
    """Compile and launch the kernels on a simulated H100."""
    command = [
        sys.executable, "-m", "irscope", "run", "--target", "cuda:90", "--force", "-o", str(output),
        "-m", "tests.truth.races.launches", *modules,
    ]  # fmt: skip
    subprocess.run(command, check=True, cwd=Path(__file__).resolve().parents[3], capture_output=True)


def answers(path: Path, listed: Sequence[Case]) -> list[Answer]:
    """Return what lint reports about each kernel of a capture."""
    problems = lint([path], RULES).problems
    result = []
    for case in listed:
        lines, first = inspect.getsourcelines(case.kernel.fn)
        file = inspect.getsourcefile(case.kernel.fn) or ""
        own = [
            problem
            for problem in problems
            if Path(problem.file).name == Path(file).name and first <= problem.line < first + len(lines)
        ]
        marks = planted(case)
        found = tuple(problem for problem in own if (problem.rule.code, problem.line) in marks)
        alarms = tuple(problem for problem in own if (problem.rule.code, problem.line) not in marks)
        result.append(Answer(case, marks, found, alarms))
    return result


def main() -> None:
    """Print each kernel and the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "races.irscope"
        if len(sys.argv) == 1:
            capture(path)
        listed = answers(path, cases())
    races = [answer for answer in listed if answer.planted]
    for answer in listed:
        state = ("found" if answer.found else "MISSED") if answer.planted else "no race"
        print(f"{state:8} {answer.case.name:28} {answer.case.source}")
        for problem in answer.found:
            print(f"    {problem.line}: {problem.message}")
        for problem in answer.alarms:
            print(f"    OTHER {problem.rule.code} {problem.line}: {problem.message}")
    threads = [answer for answer in races if answer.case.source]
    correct = [answer for answer in listed if not answer.planted]
    print(
        f"{sum(bool(a.found) for a in races)} of {len(races)} planted races found, "
        f"{sum(bool(a.found) for a in threads)} of {len(threads)} written after public threads; "
        f"{sum(len(a.alarms) for a in correct)} reports about {len(correct)} correct kernels"
    )


if __name__ == "__main__":
    main()
