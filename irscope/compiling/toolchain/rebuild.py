"""Rebuilds everything below one stage of a kernel from its text, with any installed Triton and ptxas.

The compiler runs in a child process, so that an abort of LLVM is an error like any other. What MLIR, LLVM and
ptxas print is read from there; see `diagnostics`.

Parses the messages of MLIR, LLVM and ptxas about a stage's text, with its line.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import IO, Any

from irscope.compiling.processes.child_process import python_command
from irscope.compiling.processes.run_tool import run_tool
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.compiling.toolchain.rebuild_child import CURRENT, REQUEST, RESULT, STAGE_MARK
from irscope.languages.document import Location
from irscope.languages.mlir.locations import parse_location, strip_location
from irscope.model import Target, UserError
from irscope.model.records import frozen
from irscope.targets import backend_of, stage_named

_SEVERITY = r"(?P<severity>error|warning|note)"
_PATTERNS = tuple(
    map(
        re.compile,
        (
            # MLIR: FILE:LINE:COLUMN: or loc(...):, which may have a name, a file, and the lines inlined at
            rf"loc\((?P<location>.*)\): {_SEVERITY}: (?P<text>.*)",
            rf"triton-amdgpu-assembler:(?P<line>\d+):(?P<column>\d+): {_SEVERITY}: (?P<text>.*)",
            rf"<stdin>:(?P<line>\d+):(?P<column>\d+): {_SEVERITY}: (?P<text>.*)",
            rf"(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): {_SEVERITY}: (?P<text>.*)",
            r"ptxas[\w-]* (?P<file>[^\n,]*), line (?P<line>\d+); (?P<severity>\w+) *: (?P<text>.*)",
            r"ptxas[\w-]* *(?P<severity>fatal|error|warning) *: (?P<text>.*)",
            r"failed to parse LLVM IR: (?P<text>.*) at line (?P<line>\d+)",  # AMD's, from 3.9 on
            r"LLVM ERROR: (?P<text>.*?)(?: ?lineno: (?P<line>\d+))?$",
            rf"(?:<unknown>:0: )?{_SEVERITY}: (?P<text>.*)",
        ),
    )
)
_FAILED_PASS = re.compile(r"Pipeline failed while executing \[`(\w+)`")
# MLIR adds these to the errors of a pass; they say nothing more.
_REDUNDANT = re.compile(
    r"(?:A signal was caught|Failures have been detected) while processing (?:an|the) MLIR"
    r"|Ptx assembly aborted"
)
# MLIR continues a message with sentences on lines of their own; a dump of the module is not one.
_SENTENCE = re.compile(r"[A-Z][\w ][^{}%#]*")
_LONGEST = 10_000  # characters of a line: messages are shorter, dumps of operations need not be


@frozen
class CompilerDiagnostic:
    """One message of the compiler.

    `severity` is "error", "warning" or "note". `line` and `column` count from 1 in the text of the stage
    that was given; None if the message is about no line of it. `python` is the line of the kernel's source
    that the message names ("FILE:LINE"), "" if none. `stage` is the stage that was being made.
    """

    severity: str
    message: str
    stage: str
    line: int | None = None
    column: int | None = None
    python: str = ""

    def __str__(self) -> str:
        location_prefix = f"line {self.line}: " if self.line else f"{self.python}: " if self.python else ""
        return f"{location_prefix}{self.message}"


def first_error(found: Sequence[CompilerDiagnostic]) -> str:
    """Return the first error as a line, or "" if there is no error.

    An error with a line in the stage comes before one without.
    """
    errors = [each for each in found if each.severity == "error"]
    first = next(iter(sorted(errors, key=lambda each: each.line is None)), None)
    failed = next((match[1] for each in found if (match := _FAILED_PASS.match(each.message))), None)
    if first is None:
        return f"pass {failed} failed" if failed else ""
    return f"{first} (in pass {failed})" if failed else str(first)


def diagnostics_of(
    stage: str, current: str, errors: str, raised: str, notes: Sequence[str]
) -> tuple[CompilerDiagnostic, ...]:
    """Return the messages of a rebuild from `stage` that ended while it made `current`.

    `errors` is what the child printed on fd 2, `raised` the text of its exception, `notes` its own
    remarks.
    """
    messages = [CompilerDiagnostic("note", text, stage) for text in notes]
    now, open_ = stage, False
    for line in (*errors.splitlines(), f"{STAGE_MARK}{current or stage}", *raised.splitlines()):
        if line.startswith(STAGE_MARK):
            now, open_ = line.removeprefix(STAGE_MARK), False
        elif len(line) > _LONGEST:
            open_ = False
        elif (diagnostic := _of_line(line, stage, now)) is not None:
            messages.append(diagnostic)
            open_ = True
        elif open_ and _SENTENCE.fullmatch(line):
            messages[-1] = replace(messages[-1], message=f"{messages[-1].message} {line.strip()}")
        else:
            open_ = False
    useful = [entry for entry in messages if not _REDUNDANT.match(entry.message)]
    return tuple(dict.fromkeys(useful))


def with_lines(
    found: Sequence[CompilerDiagnostic], placed: Sequence[CompilerDiagnostic]
) -> tuple[CompilerDiagnostic, ...]:
    """Return the messages `found` with the lines that equal messages in `placed` have.

    MLIR names the line of the kernel's source if the text has locations, and the line of the text
    if not.
    """
    lines = {diagnostic.message: diagnostic for diagnostic in placed if diagnostic.line}
    return tuple(
        replace(diagnostic, line=lines[diagnostic.message].line, column=lines[diagnostic.message].column)
        if diagnostic.line is None and diagnostic.message in lines
        else diagnostic
        for diagnostic in found
    )


def _of_line(line: str, stage: str, now: str) -> CompilerDiagnostic | None:
    for pattern in _PATTERNS:
        if match := pattern.match(line):
            return _diagnostic(match.groupdict(), stage, now)
    return None


def _diagnostic(parts: dict[str, str | None], stage: str, now: str) -> CompilerDiagnostic:
    severity = parts.get("severity") or "error"
    severity = {"info": "note", "fatal": "error"}.get(severity, severity)
    message = " ".join((parts["text"] or "").partition(": reproducer generated at")[0].split())
    for file, line, column in _places(parts):
        if not file or _is_input(file, stage):
            return CompilerDiagnostic(severity, message, now, line, column)
    python = next(
        (f"{file}:{line}" for file, line, _ in _places(parts) if "/triton/language/" not in file), ""
    )
    return CompilerDiagnostic(severity, message, now, python=python)


def _places(parts: dict[str, str | None]) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield the file ("" for the given text), line and column that a message names, innermost first."""
    location: Location | None
    if parts.get("location") is not None:
        location = parse_location(parts["location"] or "", {})
        while location is not None:
            yield location.file, location.line, location.column
            location = location.inlined_at
    elif parts.get("line"):
        column = int(parts.get("column") or 0)
        yield parts.get("file") or "", int(parts["line"] or 0), column or None


def _is_input(file: str, stage: str) -> bool:
    """Return True if a message names the given text; ptxas gets a copy of it."""
    return file.endswith(f"/input.{stage}") or (stage == "ptx" and file.endswith(".ptx"))


# The most bytes of the compiler's output that are read: dumps of a large module exceed it.
_OUTPUT_LIMIT = 16 * 1024 * 1024


@frozen
class PassEdits:
    """Changes of the pass pipelines.

    `skip` are passes that do not run, by MLIR's name ("tritongpu-prefetch", "canonicalize#2"). `replace` has,
    per stage, the passes that run instead of the stage's own ("cse", "tritongpu-pipeline{num-stages=2}").
    """

    skip: tuple[str, ...] = ()
    replace: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.skip or self.replace)


@frozen
class Rebuilt:
    """The stages below the given one, by name, and what the compiler reported.

    `metadata` is Triton's, `seconds` the time per stage, `log` what ptxas printed, `output` everything
    else that the compiler printed. `skipped` are the passes that an edit left out, each time that they would
    have run.
    """

    artifacts: Mapping[str, bytes]
    metadata: Mapping[str, Any]
    diagnostics: tuple[CompilerDiagnostic, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    log: str | None = None
    output: str = ""
    skipped: tuple[str, ...] = ()
    triton: str = ""


class RebuildError(UserError):
    """A stage could not be made: `str` is one line, `rebuilt` what was made before.

    `stage` is the stage that failed; `kind` the exception's class, or "aborted", "exited", "timeout".
    """

    def __init__(self, summary: str, stage: str, kind: str, rebuilt: Rebuilt) -> None:
        super().__init__(summary)
        self.stage, self.kind, self.rebuilt = stage, kind, rebuilt

    @property
    def diagnostics(self) -> tuple[CompilerDiagnostic, ...]:
        """Return the messages of MLIR, LLVM or ptxas, with lines of the given stage if they have one."""
        return self.rebuilt.diagnostics


def rebuild(
    stage: str,
    text: str,
    target: Target,
    options: Mapping[str, Any],
    *,
    metadata: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    edits: PassEdits | None = None,
    python: Path | None = None,
    ptxas: Path | None = None,
    until: str | None = None,
    gluon: bool = False,
    seconds: float = 600.0,
    read_errors: Callable[[IO[str]], None] | None = None,
) -> Rebuilt:
    """Make the stages below `stage` (down to `until`) from its text.

    `options` are options of Triton's backend (num_warps, num_stages, maxnreg...): a variant's metadata has
    them, and others there are ignored. `metadata` is that of the original; stages that are not made again
    leave it as it is. `environment` are variables for the compiler. `python` is one that has Triton, by
    default this one; `ptxas` replaces both that Triton has. `read_errors` gets all that the compiler
    printed on fd 2, open for reading. Raises RebuildError.
    """
    request = _request(stage, target, options, metadata, edits or PassEdits(), until, gluon)
    child = _Child(request, environment or {}, python or Path(sys.executable), ptxas, seconds, read_errors)
    try:
        return child.rebuild(text)
    except RebuildError as error:
        raise _with_lines(error, child, text) from error


def _request(
    stage: str,
    target: Target,
    options: Mapping[str, Any],
    metadata: Mapping[str, Any] | None,
    edits: PassEdits,
    until: str | None,
    gluon: bool,
) -> dict[str, Any]:
    """Create the request that the child reads.

    Raises UserError for a stage that nothing can be built from.
    """
    if stage_named(stage).binary:
        raise UserError(f"{stage} is machine code: nothing is built from it; give a stage above it")
    return {
        "stage": stage,
        "target": [target.backend, backend_of(target).triton_arch(target.arch), target.warp_size],
        "options": dict(options),
        "metadata": dict(metadata or {}),
        "skip": list(edits.skip),
        "passes": {name: list(passes) for name, passes in edits.replace.items()},
        "until": until,
        "gluon": gluon,
        "log_stage": backend_of(target).log_stage,
    }


def _with_lines(error: RebuildError, child: _Child, text: str) -> RebuildError:
    """Return the error with lines of the stage.

    MLIR reports these for a text without the kernel's locations.
    """
    stage = child.request["stage"]
    if stage_named(stage).language != "mlir" or any(diagnostic.line for diagnostic in error.diagnostics):
        return error
    try:
        child.rebuild("\n".join(map(strip_location, text.split("\n"))))
    except RebuildError as placed:
        diagnostics = with_lines(error.diagnostics, placed.diagnostics)
        rebuilt = replace(error.rebuilt, diagnostics=diagnostics)
        return RebuildError(first_error(diagnostics) or str(error), error.stage, error.kind, rebuilt)
    return error


@frozen
class _Child:
    """The process that rebuilds: its request but for the text, and how it is started."""

    request: Mapping[str, Any]
    environment: Mapping[str, str]
    python: Path
    ptxas: Path | None
    seconds: float
    read_errors: Callable[[IO[str]], None] | None = None

    def rebuild(self, text: str) -> Rebuilt:
        """Rebuilds from `text` once. Raises RebuildError."""
        stage = self.request["stage"]
        with temporary_folder("irscope-") as folder:
            work_folder = Path(folder)
            (work_folder / f"input.{stage}").write_text(text)
            (work_folder / REQUEST).write_text(json.dumps(self.request, default=str))
            _, *rest = python_command("irscope.compiling.toolchain.rebuild_child", folder)
            variables = _variables(self.environment, self.ptxas, work_folder)
            status = _run([str(self.python), *rest], work_folder, variables, self.seconds)
            if self.read_errors is not None:
                with (work_folder / "errors").open(encoding="utf-8", errors="replace") as errors:
                    self.read_errors(errors)
            return _outcome(work_folder, stage, status)


def _variables(environment: Mapping[str, str], ptxas: Path | None, place: Path) -> dict[str, str]:
    """Return the child's environment, without Triton's switches that would reuse or change results."""
    dropped = ("TRITON_KERNEL_OVERRIDE", "TRITON_KERNEL_DUMP", "TRITON_ALWAYS_COMPILE")
    variables = {name: value for name, value in os.environ.items() if name not in dropped}
    variables |= environment
    variables |= {"TRITON_CACHE_DIR": str(place / "cache"), "TRITON_DUMP_PTXAS_LOG": "1"}
    if ptxas is not None:
        variables |= {"TRITON_PTXAS_PATH": str(ptxas), "TRITON_PTXAS_BLACKWELL_PATH": str(ptxas)}
    return variables


def _run(command: Sequence[str], place: Path, variables: Mapping[str, str], seconds: float) -> int | None:
    """Run the child and return its exit status, or None if it ran out of time."""
    with (place / "errors").open("wb") as errors:
        try:
            done = run_tool(command, seconds=seconds, environment=variables, errors=errors)
        except subprocess.TimeoutExpired as expired:
            (place / "printed").write_bytes(expired.stdout or b"")
            return None
        except OSError as error:
            raise UserError(f"{command[0]}: cannot be started: {error.strerror}") from error
    (place / "printed").write_bytes(done.stdout)
    return done.returncode


def _outcome(place: Path, stage: str, status: int | None) -> Rebuilt:
    """Read the child's results from its folder. Raises RebuildError if it failed."""
    result = _read_result(place)
    current = _text(place / CURRENT)
    errors, printed = _text(place / "errors"), _text(place / "printed")
    error = result.get("error")
    diagnostics = diagnostics_of(stage, current, errors, error[1] if error else "", result.get("notes", ()))
    rebuilt = Rebuilt(
        {path.suffix[1:]: path.read_bytes() for path in sorted(place.glob("made.*"))},
        result.get("metadata", {}),
        diagnostics,
        result.get("seconds", {}),
        result.get("log"),
        errors + printed,
        tuple(result.get("skipped", ())),
        result.get("triton", ""),
    )
    if status == 0:
        return rebuilt
    kind, summary = _failure(status, error, errors)
    raise RebuildError(first_error(diagnostics) or summary, current or stage, kind, rebuilt)


def _failure(status: int | None, error: Sequence[str] | None, errors: str) -> tuple[str, str]:
    """Return the kind of a failure, and one line."""
    if status is None:
        return "timeout", "the compiler ran out of time"
    if error is not None:
        return error[0], " ".join(error[1].split("\n", 1)[0].split()) or error[0]
    last = next((line for line in reversed(errors.splitlines()) if line.strip()), "")
    if status < 0:
        return "aborted", f"the compiler ended with {signal.Signals(-status).name}: {last.strip()}"
    return "exited", f"the compiler exited with status {status}: {last.strip()}"


def _read_result(place: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads((place / RESULT).read_text())
    except (OSError, ValueError):  # the child did not get that far
        return {}
    return result


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_OUTPUT_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
