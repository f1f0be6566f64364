"""Writes the folder of a reproducer, and checks that it compiles to the recorded machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import getsource
from pathlib import Path

from irscope.jobs.reproduce import sanitizers
from irscope.jobs.reproduce.clean_process import DEFAULT_SECONDS, SCRIPT, CheckedReproducer, check_reproducer
from irscope.jobs.reproduce.minimize import fact_condition, minimize
from irscope.jobs.reproduce.recorded import Recorded, read_recorded
from irscope.jobs.reproduce.script import KERNEL_FILE, launch_test_text, readme_text, script_text
from irscope.model import UserError, Variant
from irscope.model.files import prepare_folder, write_output
from irscope.targets import is_source_stage, stages_of
from irscope.workspace.conditions import parse_expectation

README, VALUES_FILE = "README.md", "values.pt"
SANITIZERS, LAUNCH_TEST = "sanitizers.py", "test_launch.py"


@dataclass(frozen=True)
class Reproducer:
    """A reproducer that was written.

    `kernel_lines` is the length of kernel.py, `scaffold_lines` that of everything else in Python; `findings`
    are the sentences of the README, of which the last is about minimizing. `equal` is true if it was checked
    and has the recorded machine code (or fails as recorded); `outcome` is the result in one sentence.
    """

    kernel_lines: int
    scaffold_lines: int
    findings: tuple[str, ...]
    equal: bool
    outcome: str


@dataclass(frozen=True)
class Minimization:
    """How to make a kernel smaller: as long as `check` holds or `fact` stays as bad as it is.

    Neither is needed for a variant that fails: its error stays. `seconds` is the time limit; `processes` of 0
    starts one per core.
    """

    check: str
    fact: str = ""
    seconds: float = DEFAULT_SECONDS
    processes: int = 0

    def expression(self, recorded: Recorded) -> str:
        """Return the condition as an expectation; "" for a variant that fails. Raises UserError."""
        if self.check:
            parse_expectation(self.check)
        return self.check or (fact_condition(self.fact, recorded) if self.fact else "")


def reproduce(
    capture: Path,
    variant: Variant,
    folder: Path,
    *,
    name: str,
    findings: Sequence[str] = (),
    check: bool = True,
    python: str = "",
    force: bool = False,
    minimized: Minimization | None = None,
    test: bool = False,
) -> Reproducer:
    """Write a reproducer of a variant of `capture` into `folder`, and run it in a clean process.

    Running it executes the Python text of the kernel that the capture has; `check=False` does not. `name` is
    the variant's name, `findings` the sentences for the README. `force` overwrites files in the folder. With
    `minimized` the kernel is made smaller first. `test` adds a test for pytest that launches it.
    Raises UserError if the capture has too little of the variant, or the folder is in use.
    """
    recorded = read_recorded(capture, variant)
    prepare_folder(folder, force)
    if minimized is not None:
        smaller = minimize(recorded, minimized.expression(recorded), minimized.seconds, minimized.processes)
        recorded, findings = smaller.recorded, [*findings, smaller.text]
    script = script_text(recorded)
    files = {f"{KERNEL_FILE}.py": recorded.kernel.encode(), SCRIPT: script.encode()}
    if recorded.values is not None:
        files[VALUES_FILE] = recorded.values
    else:  # of an earlier reproducer in this folder
        (folder / VALUES_FILE).unlink(missing_ok=True)
    if test:
        if recorded.launch is None:
            raise UserError(f"--test: no launch of #{variant.id} is recorded; irscope run records launches")
        files[SANITIZERS] = getsource(sanitizers).encode()
        files[LAUNCH_TEST] = launch_test_text(recorded, findings).encode()
    for file, content in files.items():
        write_output(folder / file, content, force=True)
    checked = check_reproducer(folder, recorded, python) if check else None
    outcome = _outcome(recorded.variant, checked, minimized is not None)
    readme = readme_text(recorded, name, findings, outcome)
    write_output(folder / README, readme.encode(), force=True)
    lines = recorded.kernel.count("\n"), script.count("\n")
    return Reproducer(*lines, tuple(findings), checked is not None and checked.equal, outcome)


def _outcome(variant: Variant, checked: CheckedReproducer | None, smaller: bool) -> str:
    """Return the result of a check in one sentence; `smaller` if the kernel was minimized."""
    if checked is None:
        return "Not checked: nothing of it was executed."
    if checked.equal:
        code = "the machine code that minimizing found" if smaller else "the recorded machine code"
        what = "fails as recorded" if variant.failure is not None else f"compiles to {code}"
        return f"Checked: it {what}, in a process without the project."
    if checked.problem:
        return f"NOT reproduced: {checked.problem}"
    stages = [stage.name for stage in stages_of(variant) if not is_source_stage(stage.name)]
    stages = [name for name in stages if name in variant.artifacts]
    equal = ""
    if checked.first_stage in stages[1:]:
        equal = f"; up to {stages[stages.index(checked.first_stage) - 1]} all stages are equal"
    return f"NOT reproduced: the first stage that differs is {checked.first_stage or 'unknown'}{equal}."
