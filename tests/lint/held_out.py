"""Counts what lint finds of the held-out errors: programs that were written before any rule saw them.

    python -m tests.lint.held_out [NAME ...]

A file of tests/data/planted/held_out is a program with one error. `# found: RULE` marks a line that a
rule should report (`RULE|RULE`: either does), and `# bug -> LINE` a line with the corrected one; `# bug:
RULE -> LINE` is both. Its docstring names the public thread that it was written after, and its target if
that is not an H100. The program and the corrected one are linted, launched on a simulated GPU, and the
capture is linted: an error is found if a rule that is named reports a line that is marked; the corrected
program is silent if no rule about correctness reports it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irscope.lint.diagnostic import Diagnostic
from irscope.workspace.linting import lint
from tests.lint.planted import PROGRAMS

FOLDER = PROGRAMS / "held_out"
_MARK = re.compile(r"  # (?:found: (?P<found>[\w|-]+)|bug(?:: (?P<rule>[\w|-]+))?(?: -> (?P<right>.*))?)$")
_TARGET = re.compile(r"^target: (\S+)$", re.M)
_DEFAULT_TARGET = "cuda:90"
# Rules about speed and tuning, not about results.
_SPEED = {"narrow-access", "strided-access", "idle-threads", "unspecialized-bound", "constexpr-size"}
_LAUNCH_ALL = """\
import runpy
for path in {paths}:
    try:
        runpy.run_path(path, run_name="__main__")
    except Exception as error:
        print(f"{{path}}: {{type(error).__name__}}: {{error}}"[:600], flush=True)
"""


@dataclass(frozen=True)
class HeldOut:
    """A program, its corrected twin, and the lines that rules should report."""

    name: str
    wrong: str
    right: str
    marks: frozenset[tuple[str, int]]
    target: str
    thread: str

    @property
    def file(self) -> str:
        """Return the file's name."""
        return f"{self.name}.py"


@dataclass(frozen=True)
class Answer:
    """What is reported about a program (`found` at the marked lines), and about its twin."""

    program: HeldOut
    found: tuple[Diagnostic, ...]
    others: tuple[Diagnostic, ...]
    alarms: tuple[Diagnostic, ...]


def read(path: Path) -> HeldOut:
    """Return a held-out program."""
    text = path.read_text(encoding="utf-8")
    marks: set[tuple[str, int]] = set()
    wrong, right = [], []
    for number, line in enumerate(text.split("\n"), 1):
        code, corrected = line, None
        while match := _MARK.search(code):
            names = match["found"] or match["rule"]
            marks |= {(name, number) for name in names.split("|")} if names else set()
            corrected = match["right"] if match["right"] is not None else corrected
            code = code[: match.start()]
        # `# found` may stand before `# bug`: the corrected line is what follows the arrow.
        indent = code[: len(code) - len(code.lstrip())]
        wrong.append(code)
        right.append(code if corrected is None else indent + corrected)
    target = _TARGET.search(text)
    thread = re.search(r"^https://\S+$", text, re.M)
    return HeldOut(
        path.stem, "\n".join(wrong), "\n".join(right), frozenset(marks),
        target[1] if target else _DEFAULT_TARGET, thread[0] if thread else "",
    )  # fmt: skip


def programs(names: Sequence[str] = ()) -> list[HeldOut]:
    """Return the held-out programs, or those that are named."""
    return [read(path) for path in sorted(FOLDER.glob("*.py")) if not names or path.stem in names]


def reports(folder: Path, listed: Sequence[HeldOut]) -> dict[str, list[Diagnostic]]:
    """Return what is reported about the programs of a folder, by file."""
    paths = [folder]
    for target in sorted({program.target for program in listed}):
        launched = [str(folder / program.file) for program in listed if program.target == target]
        driver = folder.with_name(f"launch_{folder.name}.py")
        driver.write_text(_LAUNCH_ALL.format(paths=launched), encoding="utf-8")
        capture = folder.with_name(f"{folder.name}_{target.replace(':', '_')}.irscope")
        command = [sys.executable, "-m", "irscope", "run", "--target", target, "--force", "-o", str(capture)]
        ended = subprocess.run([*command, str(driver)], check=False, capture_output=True, text=True)
        print("\n".join(line for line in ended.stdout.split("\n") if line.startswith("/")), end="")
        if ended.returncode:
            print(ended.stderr[-2000:])
        if capture.exists():
            paths.append(capture)
    result: dict[str, list[Diagnostic]] = {program.file: [] for program in listed}
    checked = lint(paths)
    for note in checked.notes:
        print(f"    note: {note}")
    for problem in checked.problems:
        if problem.rule.name not in _SPEED:
            result[Path(problem.file).name].append(problem)
    return result


def answers(listed: Sequence[HeldOut], scratch: Path) -> list[Answer]:
    """Lint programs and their twins; `scratch` is an empty folder."""
    sides = []
    for side in ("wrong", "right"):
        folder = scratch / side
        folder.mkdir()
        for program in listed:
            text = program.wrong if side == "wrong" else program.right
            (folder / program.file).write_text(text, encoding="utf-8")
        sides.append(reports(folder, listed))
    result = []
    for program in listed:
        wrong = sides[0][program.file]
        found = tuple(one for one in wrong if (one.rule.name, one.line) in program.marks)
        others = tuple(one for one in wrong if (one.rule.name, one.line) not in program.marks)
        result.append(Answer(program, found, others, tuple(sides[1][program.file])))
    return result


def main() -> None:
    """Print each program and the figures."""
    with tempfile.TemporaryDirectory() as scratch:
        listed = answers(programs(sys.argv[1:]), Path(scratch))
    for answer in listed:
        state = "found" if answer.found else "MISSED"
        print(f"{state:7}{answer.program.name:32} {answer.program.thread}")
        for kind, problems in (("", answer.found), ("OTHER ", answer.others), ("ALARM ", answer.alarms)):
            for problem in problems:
                print(f"    {kind}{problem.rule.name} {problem.line}: {problem.message[:230]}")
    threads = [answer for answer in listed if answer.program.thread]
    print(
        f"{sum(bool(one.found) for one in listed)} of {len(listed)} errors found, "
        f"{sum(bool(one.found) for one in threads)} of {len(threads)} written after public threads; "
        f"{sum(not one.alarms for one in listed)} of {len(listed)} corrected programs are silent"
    )


if __name__ == "__main__":
    main()
