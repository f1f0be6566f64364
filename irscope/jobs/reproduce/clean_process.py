"""Runs a reproducer where nothing of the user's project can be imported, and compares what it compiles."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from irscope.compiling.processes.run_tool import run_tool
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.diff.stage_diff import diff_stage
from irscope.jobs.reproduce.recorded import Recorded
from irscope.languages.language import parse, strip_debug
from irscope.model import UserError, Variant
from irscope.targets import backend_of, is_source_stage, stages_of
from irscope.targets.elf import code_digest

SCRIPT = "reproduce.py"
DEFAULT_SECONDS = 300.0
# A busy machine may take this many times as long to compile as the capture says.
_SLOWER = 20
# The environment variables that a process without the user's settings keeps.
_KEPT = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "CC", "SSL_CERT_FILE")
# Where a process that sees none of them imports the compiler from.
_PACKAGES = ("triton", "torch", "numpy")


@dataclass(frozen=True)
class CheckedReproducer:
    """The outcome of a reproducer's script: whether the machine code is that of the capture.

    `first_stage` is the first stage that differs, "" if none does or the script failed; `problem` says in a
    line why there is no machine code. `artifacts` are what it compiled, `output` is what it printed.
    """

    equal: bool
    first_stage: str = ""
    problem: str = ""
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    output: str = ""


def check_reproducer(folder: Path, recorded: Recorded, python: str = "") -> CheckedReproducer:
    """Run the script of the reproducer in `folder`, which executes its kernel.py, and compare the stages.

    `python` is another interpreter, with another Triton. Raises UserError if it cannot be started.
    """
    seconds = max(DEFAULT_SECONDS, _SLOWER * sum(recorded.variant.seconds.values()))
    with temporary_folder("irscope-reproduce-") as name:
        scratch = Path(name)
        copy, dumped = scratch / "repro", scratch / "stages"
        copy.mkdir()
        for file in folder.glob("*.py"):
            shutil.copy(file, copy)
        command = [python or sys.executable, str(copy / SCRIPT), "--dump", str(dumped)]
        code, output = _run(command, scratch, seconds)
        artifacts = dumped_stages(dumped, recorded.variant)
    if not artifacts:
        if recorded.variant.failure is not None and code == 0:
            return CheckedReproducer(True, output=output)
        return CheckedReproducer(False, problem=_last_line(output), output=output)
    return _compared(recorded, artifacts, output)


def _run(command: Sequence[str], scratch: Path, seconds: float) -> tuple[int, str]:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"TRITON_CACHE_DIR": str(scratch / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    if folders := _compiler_folders():
        environment["PYTHONPATH"] = os.pathsep.join(folders)
    start = ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
    try:
        done = run_tool([*start, *command], seconds=seconds)
    except subprocess.TimeoutExpired:
        return 1, f"the script took more than {seconds:g} s"
    except OSError as error:
        raise UserError(f"{command[0]}: cannot be started: {error.strerror}") from error
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


@cache
def _compiler_folders() -> tuple[str, ...]:
    """Folders with the compiler that only this process's path has, such as those of PYTHONPATH."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    folders = []
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            folder = Path(spec.origin).parents[1]
            if any(Path(entry).resolve() == folder.resolve() for entry in entries):
                folders.append(str(folder))
    return tuple(dict.fromkeys(folders))


def dumped_stages(folder: Path, variant: Variant) -> dict[str, bytes]:
    """Return the stages that a script wrote by name.

    The log of ptxas is "log", Triton's metadata "json".
    """
    files = sorted(folder.glob("*.*")) if folder.is_dir() else []
    stage_names = {stage.name for stage in stages_of(variant)} | {"log", "json"}
    return {file.suffix[1:]: file.read_bytes() for file in files if file.suffix[1:] in stage_names}


def _last_line(output: str) -> str:
    """Return the line that says why a script failed: the last one of its traceback."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "the script printed nothing"


def _compared(recorded: Recorded, artifacts: Mapping[str, bytes], output: str) -> CheckedReproducer:
    binary = backend_of(recorded.variant.target).binary
    equal = recorded.binary is not None and binary in artifacts
    equal = equal and _code(recorded.binary or b"") == _code(artifacts[binary])
    if equal:
        return CheckedReproducer(True, artifacts=artifacts, output=output)
    problem = "" if recorded.binary is not None else "it compiles, but the capture has no machine code of it"
    first = first_different_stage(recorded.variant, recorded.artifacts, artifacts)
    return CheckedReproducer(False, first, problem, artifacts, output)


def _code(content: bytes) -> str:
    try:
        return code_digest(content)
    except ValueError:
        return ""


def first_different_stage(variant: Variant, ours: Mapping[str, bytes], theirs: Mapping[str, bytes]) -> str:
    """Return the first stage that differs in more than names and locations, or "" if none does."""
    for stage in stages_of(variant):
        if is_source_stage(stage.name) or not (stage.name in ours and stage.name in theirs):
            continue
        a, b = ours[stage.name], theirs[stage.name]
        if stage.language is None:
            if _code(a) != _code(b):
                return stage.name
        elif a != b and not _same_text(stage.name, stage.language, a, b):
            return stage.name
    return ""


def _same_text(stage: str, language: str, a: bytes, b: bytes) -> bool:
    ours, theirs = (strip_debug(content.decode("utf-8", "replace"), language) for content in (a, b))
    return ours == theirs or diff_stage(stage, parse(ours, language), parse(theirs, language)).equal
