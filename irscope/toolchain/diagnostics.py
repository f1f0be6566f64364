"""Parses the messages of MLIR, LLVM and ptxas about a stage's text, with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from irscope.languages.document import Location
from irscope.languages.mlir.locations import parse_location
from irscope.toolchain.rebuild_child import STAGE_MARK

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


@dataclass(frozen=True, slots=True)
class Diagnostic:
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
        place = f"line {self.line}: " if self.line else f"{self.python}: " if self.python else ""
        return f"{place}{self.message}"


def first_error(found: Sequence[Diagnostic]) -> str:
    """The first error as a line, one with a line in the stage if there is one; "" if there is no error."""
    errors = [each for each in found if each.severity == "error"]
    first = next(iter(sorted(errors, key=lambda each: each.line is None)), None)
    failed = next((match[1] for each in found if (match := _FAILED_PASS.match(each.message))), None)
    if first is None:
        return f"pass {failed} failed" if failed else ""
    return f"{first} (in pass {failed})" if failed else str(first)


def diagnostics_of(
    stage: str, current: str, errors: str, raised: str, notes: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """The messages of a rebuild from `stage` that ended while it made `current`.

    `errors` is what the child printed on fd 2, `raised` the text of its exception, `notes` its own remarks.
    """
    found = [Diagnostic("note", text, stage) for text in notes]
    now, open_ = stage, False
    for line in (*errors.splitlines(), f"{STAGE_MARK}{current or stage}", *raised.splitlines()):
        if line.startswith(STAGE_MARK):
            now, open_ = line.removeprefix(STAGE_MARK), False
        elif len(line) > _LONGEST:
            open_ = False
        elif (diagnostic := _of_line(line, stage, now)) is not None:
            found.append(diagnostic)
            open_ = True
        elif open_ and _SENTENCE.fullmatch(line):
            found[-1] = replace(found[-1], message=f"{found[-1].message} {line.strip()}")
        else:
            open_ = False
    useful = [each for each in found if not _REDUNDANT.match(each.message)]
    return tuple(dict.fromkeys(useful))


def with_lines(found: Sequence[Diagnostic], placed: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The messages `found` with the lines that equal messages in `placed` have.

    MLIR names the line of the kernel's source if the text has locations, and the line of the text if not.
    """
    lines = {each.message: each for each in placed if each.line}
    return tuple(
        replace(each, line=lines[each.message].line, column=lines[each.message].column)
        if each.line is None and each.message in lines
        else each
        for each in found
    )


def _of_line(line: str, stage: str, now: str) -> Diagnostic | None:
    for pattern in _PATTERNS:
        if match := pattern.match(line):
            return _diagnostic(match.groupdict(), stage, now)
    return None


def _diagnostic(parts: dict[str, str | None], stage: str, now: str) -> Diagnostic:
    severity = parts.get("severity") or "error"
    severity = {"info": "note", "fatal": "error"}.get(severity, severity)
    message = " ".join((parts["text"] or "").partition(": reproducer generated at")[0].split())
    for file, line, column in _places(parts):
        if not file or _is_input(file, stage):
            return Diagnostic(severity, message, now, line, column)
    python = next(
        (f"{file}:{line}" for file, line, _ in _places(parts) if "/triton/language/" not in file), ""
    )
    return Diagnostic(severity, message, now, python=python)


def _places(parts: dict[str, str | None]) -> Iterator[tuple[str, int | None, int | None]]:
    """The file ("" for the given text), line and column that a message names, innermost first."""
    place: Location | None
    if parts.get("location") is not None:
        place = parse_location(parts["location"] or "", {})
        while place is not None:
            yield place.file, place.line, place.column
            place = place.inlined_at
    elif parts.get("line"):
        column = int(parts.get("column") or 0)
        yield parts.get("file") or "", int(parts["line"] or 0), column or None


def _is_input(file: str, stage: str) -> bool:
    """Whether a message names the given text; ptxas gets a copy of it."""
    return file.endswith(f"/input.{stage}") or (stage == "ptx" and file.endswith(".ptx"))
