"""Runs a program and says what its processes still compiled: the parent's half of `irscope warm --check`."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.jobs.warm.check_process import VARIABLE
from irscope.jobs.warm.expecting import ColdStart
from irscope.jobs.warm.manifest import read_manifest
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.recording.subprocesses import startup_path


@frozen
class ProgramCheck:
    """The result of a check: the program's exit code, 128 + N if signal N ended it, and its cold starts.

    `processes` is how many Python processes imported Triton, `hits` how many kernels they loaded from the
    cache.
    """

    code: int
    processes: int
    hits: int
    cold: tuple[ColdStart, ...]


def check_program(command: Sequence[str], folder: Path | None) -> ProgramCheck:
    """Run a command with `folder` as Triton's cache (None: the cache as it is) and listens to its processes.

    Raises UserError if the folder or the command does not exist, or if the manifest cannot be read.
    """
    if folder is not None and not folder.is_dir():
        raise UserError(f"{folder}: no such folder; irscope warm -o {folder} builds it")
    manifest = None if folder is None else read_manifest(folder)
    with temporary_folder("irscope-check-") as reports:
        environment = dict(os.environ) | {VARIABLE: reports, "PYTHONPATH": startup_path()}
        if folder is not None:
            environment["TRITON_CACHE_DIR"] = str(folder.absolute())
        code = _run(command, environment)
        # Processes get increasing numbers, so the order is that in which they started.
        files = sorted(Path(reports).glob("*.jsonl"), key=lambda file: int(file.stem))
        process_reports = [_read_report(file) for file in files]
    hits = {hash_: name for process_hits, _ in process_reports for hash_, name in process_hits.items()}
    cold = [ColdStart(**fields) for _, process_cold in process_reports for fields in process_cold]
    # An entry that the folder did not have when it was built.
    listed = {entry.hash for entry in manifest.entries} if manifest is not None else hits.keys()
    cold += [
        ColdStart("unlisted", name, 0.0, missing="an earlier run compiled it", hash=hash_)
        for hash_, name in hits.items()
        if hash_ not in listed
    ]
    return ProgramCheck(code, len(process_reports), len(hits), tuple(cold))


def command_of(text: str) -> list[str]:
    """Return the command of a program: a script with arguments, "-m MODULE" or an executable.

    The text has shell quoting. Raises UserError if it is none of these.
    """
    words = [text] if Path(text).is_file() else shlex.split(text)
    if not words:
        raise UserError("an empty program; specify 'train.py --steps 1', '-m MODULE' or a command")
    if words[0] == "-m" or words[0].endswith(".py"):
        if words[0] != "-m" and not Path(words[0]).is_file():
            raise UserError(f"{words[0]}: no such file")
        return [sys.executable, *words]
    return words


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command and return its exit code.

    Ctrl-C reaches it from the terminal; this process waits for its end.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with subprocess.Popen(command, env=environment) as child:
            code = child.wait()
    except OSError as error:
        raise UserError(f"{command[0]}: cannot be run: {error.strerror}") from error
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code


def _read_report(file: Path) -> tuple[dict[str, str], list[Any]]:
    """Return the hits and cold starts of a process; what a killed one had written until then."""
    hits: dict[str, str] = {}
    cold: list[Any] = []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError):  # cut off by the end of the process
            record = json.loads(line)
            if "hits" in record:
                hits, cold = record["hits"], record["cold"]
            else:
                cold += record.get("cold", [])
    return hits, cold
