"""Counts the planted accesses outside of tensors that `irscope lint` finds, and prints all reports.

python -m tests.truth.bounds.measure [CAPTURE]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from irscope.lint.diagnostic import Diagnostic
from irscope.workspace.linting import lint
from tests.truth.bounds.kernels import CASES
from tests.truth.races.case import Case
from tests.truth.races.measure import planted

RULES = ("IRS321", "IRS207", "IRS208")


@dataclass(frozen=True)
class Answer:
    """The reports about the marked line of a kernel, and about its other lines."""

    case: Case
    is_planted: bool
    found: tuple[Diagnostic, ...]
    alarms: tuple[Diagnostic, ...]


def capture(output: Path) -> None:
    """Compile and launch the kernels on a simulated H100."""
    command = [
        sys.executable, "-m", "irscope", "run", "--target", "cuda:90", "--force", "-o", str(output),
        "-m", "tests.truth.bounds.launches",
    ]  # fmt: skip
    subprocess.run(command, check=True, cwd=Path(__file__).resolve().parents[3], capture_output=True)


def answers(path: Path) -> list[Answer]:
    """Return what lint reports about each kernel of a capture."""
    problems = [one for one in lint([path], RULES).problems if Path(one.file).name == "kernels.py"]
    result = []
    for case in CASES:
        code = case.kernel.fn.__code__
        lines = [line for _, _, line in code.co_lines() if line]
        own = [one for one in problems if code.co_firstlineno <= one.line <= max(lines)]
        marks = planted(case)
        found = tuple(one for one in own if (one.rule.code, one.line) in marks)
        alarms = tuple(one for one in own if (one.rule.code, one.line) not in marks)
        result.append(Answer(case, bool(marks), found, alarms))
    return result


def main() -> None:
    """Print each kernel and the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "bounds.irscope"
        if len(sys.argv) == 1:
            capture(path)
        listed = answers(path)
    for answer in listed:
        state = ("found" if answer.found else "MISSED") if answer.is_planted else "correct"
        print(f"{state:8} {answer.case.name:28} {answer.case.source}")
        for problem in (*answer.found, *answer.alarms):
            print(f"    {problem.rule.code} {problem.line}: {problem.message}")
    wrong = [answer for answer in listed if answer.is_planted]
    print(
        f"{sum(bool(a.found) for a in wrong)} of {len(wrong)} planted accesses found; "
        f"{sum(len(a.alarms) for a in listed)} reports about other lines and correct kernels"
    )


if __name__ == "__main__":
    main()
