"""Runs a reproducer where nothing of the user's project can be imported, and compares what it compiles."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from irscope.compiling.processes.run_tool import run_tool
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.diff.stage_diff import diff_stage
from irscope.jobs.reproduce.recorded import Recorded
from irscope.languages.language import Language, parse
from irscope.model import UserError, Variant
from irscope.targets import backend_of, is_source_stage, stages_of
from irscope.targets.elf import code_digest

SCRIPT = "reproduce.py"
DEFAULT_SECONDS = 300.0
# A busy machine may take this many times as long to compile as the capture says.
SLOWER = 20
# The environment variables that a process without the user's settings keeps.
_KEPT = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "CC", "SSL_CERT_FILE")
# Where a process that sees none of them imports the compiler from.
_PACKAGES = ("triton", "torch", "numpy")


@dataclass(frozen=True)
class CheckedReproducer:
    """The outcome of a reproducer's script: whether the machine code is that of the capture.

    `first_stage` is the first stage that differs, "" if none does or the script failed; `problem` says in a
    line why there is no machine code to compare.
    """

    equal: bool
    first_stage: str = ""
    problem: str = ""


def check_reproducer(folder: Path, recorded: Recorded, python: str) -> CheckedReproducer:
    """Run the script of the reproducer in `folder`, which executes its kernel.py, and compare the stages.

    `python` is another interpreter, with another Triton. Raises UserError if it cannot be started.
    """
    seconds = max(DEFAULT_SECONDS, SLOWER * sum(recorded.variant.seconds.values()))
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
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        failed_as_recorded = recorded.variant.failure is not None and code == 0
        problem = "" if failed_as_recorded else (lines or ["the script printed nothing"])[-1]
        return CheckedReproducer(failed_as_recorded, problem=problem)
    binary = artifacts.get(backend_of(recorded.variant.target).binary)
    if binary is not None and recorded.binary is not None and _code(recorded.binary) == _code(binary):
        return CheckedReproducer(True)
    problem = "" if recorded.binary is not None else "it compiles, but the capture has no machine code of it"
    return CheckedReproducer(False, first_different_stage(recorded, artifacts), problem)


def _run(command: Sequence[str], scratch: Path, seconds: float) -> tuple[int, str]:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"TRITON_CACHE_DIR": str(scratch / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    if folders := _compiler_folders():
        environment["PYTHONPATH"] = os.pathsep.join(folders)
    try:
        done = run_tool(command, seconds=seconds, environment=environment)
    except subprocess.TimeoutExpired:
        return 1, f"the script took more than {seconds:g} s"
    except OSError as error:
        raise UserError(f"{command[0]}: cannot be started: {error.strerror}") from error
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


@cache
def _compiler_folders() -> tuple[str, ...]:
    """Return the folders with the compiler that only this process's path has, such as those of PYTHONPATH."""
    searched = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    entries = {Path(entry).resolve() for entry in searched if entry}
    specs = filter(None, map(importlib.util.find_spec, _PACKAGES))
    folders = (Path(spec.origin).parents[1] for spec in specs if spec.origin)
    return tuple(dict.fromkeys(str(folder) for folder in folders if folder.resolve() in entries))


def dumped_stages(folder: Path, variant: Variant) -> dict[str, bytes]:
    """Return the stages that a script wrote by name.

    The log of ptxas is "log", Triton's metadata "json".
    """
    stage_names = {stage.name for stage in stages_of(variant)} | {"log", "json"}
    files = sorted(folder.glob("*.*"))
    return {file.suffix[1:]: file.read_bytes() for file in files if file.suffix[1:] in stage_names}


def _code(content: bytes) -> str:
    try:
        return code_digest(content)
    except ValueError:
        return ""


def first_different_stage(recorded: Recorded, artifacts: Mapping[str, bytes]) -> str:
    """Return the first stage that differs in more than names and locations, or "" if none does."""
    for stage in stages_of(recorded.variant):
        contents = [stages.get(stage.name) for stages in (recorded.artifacts, artifacts)]
        if is_source_stage(stage.name) or None in contents or contents[0] == contents[1]:
            continue
        a, b = (content or b"" for content in contents)
        if stage.language is None:
            is_equal = _code(a) == _code(b)
        else:
            is_equal = _same_text(stage.name, stage.language, a, b)
        if not is_equal:
            return stage.name
    return ""


def _same_text(stage: str, language: str, a: bytes, b: bytes) -> bool:
    ours, theirs = (
        Language.named(language).without_debug(content.decode("utf-8", "replace")) for content in (a, b)
    )
    return ours == theirs or diff_stage(stage, parse(ours, language), parse(theirs, language)).equal
