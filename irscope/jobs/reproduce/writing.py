"""Writes the folder of a reproducer, and checks that it compiles to the recorded machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irscope.jobs.reproduce.clean_process import SCRIPT, CheckedReproducer, check_reproducer
from irscope.jobs.reproduce.minimize import DEFAULT_SECONDS, fact_condition, minimize
from irscope.jobs.reproduce.recorded import Recorded, read_recorded
from irscope.jobs.reproduce.script import KERNEL_FILE, readme_text, script_text
from irscope.model import Variant
from irscope.model.files import prepare_folder, write_output
from irscope.targets import is_source_stage, stages_of
from irscope.workspace.conditions import parse_expectation

README, VALUES_FILE = "README.md", "values.pt"


@dataclass(frozen=True)
class Reproducer:
    """A reproducer's folder. `checked` is None if it was not run.

    `kernel_lines` is the length of kernel.py, `scaffold_lines` that of everything else in Python; `findings`
    are the sentences of the README, of which the last is about minimizing.
    """

    folder: Path
    variant: Variant
    kernel_lines: int
    scaffold_lines: int
    checked: CheckedReproducer | None = None
    findings: tuple[str, ...] = ()
    minimized: bool = False

    @property
    def equal(self) -> bool:
        """Return True if it was checked and has the recorded machine code (or fails as recorded)."""
        return self.checked is not None and self.checked.equal

    @property
    def outcome(self) -> str:
        """Return the result of the check in one sentence."""
        return outcome_text(self.variant, self.checked, self.minimized)


@dataclass(frozen=True)
class Minimization:
    """How to make a kernel smaller: as long as `check` holds or `fact` stays as bad as it is.

    Neither is needed for a variant that fails: its error stays. `seconds` is the time limit; `processes` of 0
    starts one per core.
    """

    check: str = ""
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
    name: str = "",
    findings: Sequence[str] = (),
    check: bool = True,
    python: str = "",
    force: bool = False,
    minimized: Minimization | None = None,
) -> Reproducer:
    """Write a reproducer of a variant of `capture` into `folder`, and run it in a clean process.

    Running it executes the Python text of the kernel that the capture has; `check=False` does not. `name` is
    the variant's name, `findings` the sentences for the README. `force` overwrites files in the folder. With
    `minimized` the kernel is made smaller first.
    Raises UserError if the capture has too little of the variant, or the folder is in use.
    """
    recorded = read_recorded(capture, variant)
    prepare_folder(folder, force)
    if minimized is not None:
        smaller = minimize(recorded, minimized.expression(recorded), minimized.seconds, minimized.processes)
        recorded, findings = smaller.recorded, [*findings, smaller.text]
    return write_reproducer(
        recorded, folder, name or str(variant.config), findings, check, python, smaller=minimized is not None
    )


def write_reproducer(
    recorded: Recorded,
    folder: Path,
    name: str,
    findings: Sequence[str] = (),
    check: bool = True,
    python: str = "",
    smaller: bool = False,
) -> Reproducer:
    """Write the files of a reproducer, and check it; see `reproduce`."""
    script = script_text(recorded)
    _write(folder / f"{KERNEL_FILE}.py", recorded.kernel.encode())
    _write(folder / SCRIPT, script.encode())
    if recorded.values is not None:
        _write(folder / VALUES_FILE, recorded.values)
    else:  # of an earlier reproducer in this folder
        (folder / VALUES_FILE).unlink(missing_ok=True)
    checked = check_reproducer(folder, recorded, python) if check else None
    outcome = outcome_text(recorded.variant, checked, smaller)
    _write(folder / README, readme_text(recorded, name, findings, outcome).encode())
    lines = recorded.kernel.count("\n"), script.count("\n")
    return Reproducer(folder, recorded.variant, *lines, checked, tuple(findings), smaller)


def outcome_text(variant: Variant, checked: CheckedReproducer | None, smaller: bool = False) -> str:
    """Return the result of a check in one sentence; `smaller` if the kernel was minimized."""
    code = "the machine code that minimizing found" if smaller else "the recorded machine code"
    if checked is None:
        return "Not checked: nothing of it was executed."
    if checked.equal and variant.failure is not None:
        return "Checked: it fails as recorded, in a process without the project."
    if checked.equal:
        return f"Checked: it compiles to {code}, in a process without the project."
    if checked.problem:
        return f"NOT reproduced: {checked.problem}"
    before = _stage_before(variant, checked.first_stage)
    equal = f"; up to {before} all stages are equal" if before else ""
    return f"NOT reproduced: the first stage that differs is {checked.first_stage or 'unknown'}{equal}."


def _stage_before(variant: Variant, stage: str) -> str:
    names = [stage_kind.name for stage_kind in stages_of(variant) if not is_source_stage(stage_kind.name)]
    names = [name for name in names if name in variant.artifacts]
    return names[names.index(stage) - 1] if stage in names[1:] else ""


def _write(path: Path, content: bytes) -> None:
    write_output(path, content, force=True)
