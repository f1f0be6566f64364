"""LLVM's own passes, as Triton runs them: which changed the module, by how many instructions, and the time.

With LLVM_IR_ENABLE_DUMP, LLVM prints the module after each pass to fd 2; with LLVM_ENABLE_TIMING, a table of
seconds per pass of the code generator (Triton's LLVM has none for the optimizer). The first is 10 to 20 MB
for a matmul: it is read from a file line by line, and only differences are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, Any

from irscope.compiling.toolchain.rebuild import rebuild
from irscope.compiling.toolchain.rebuild_child import STAGE_MARK
from irscope.model import Target
from irscope.model.records import frozen

# Dumps of every pass, of the whole module even after passes over a loop.
VARIABLES = {
    "LLVM_IR_ENABLE_DUMP": "1",
    "LLVM_ENABLE_TIMING": "1",
    "DISABLE_LLVM_OPT": "print-module-scope",
}
# Lines that are read at most: a kernel whose dumps are longer has an incomplete report.
_MAX_LINES = 20_000_000
_MAX_SECONDS = 300.0

_HEADER = re.compile(r"[;#]? ?\*\*\* IR Dump After (?P<name>.+?)(?: on (?P<scope>.+?))? \*\*\*.*")
_FLAG = re.compile(r"(?P<title>.*) \((?P<flag>[\w-]+)\)")
_TIMED = re.compile(r"(?:\s+[\d.]+ \([ \d.]+%\))+\s+(?P<name>\S.*)")
_SECONDS = re.compile(r"([\d.]+) \([ \d.]+%\)")
_REPEATED = re.compile(r"(.*) #(\d+)")
_TABLE = "Pass execution timing report"
# Names of metadata, which are numbered anew when a module is printed, and slots of machine instructions.
_NOISE = re.compile(r",? ?!\w[\w.]*(?: !\d+)?|;.*|^\d+B\t|, debug-location !\d+")
# Metadata, braces, and the progress of the pass manager.
_SKIPPED = re.compile(r"[!#}]|(?:Running|Invalidating|Clearing|Skipping) (?:pass|analysis|all|loop)")
_OPCODE = re.compile(r"(?:.* = )?(?:(?:tail|musttail|notail|renamable|killed|nuw|nsw) )*([A-Za-z_][\w.]*)")
_NOT_INSTRUCTIONS = (
    "define",
    "declare",
    "attributes",
    "target",
    "source_filename",
    "bb",
    "successors",
    "liveins",
)


@frozen
class LlvmPass:
    """One pass of LLVM over the kernel.

    `stage` is the stage that it is part of: "llir" for the optimizer, the assembly for the code generator.
    `name` is LLVM's ("InstCombinePass", "Global Value Numbering"), `flag` its name on LLVM's command line, ""
    if the dump has none. `effect` is how many more or fewer there are of each instruction, those that
    changed most first; empty if the pass changed nothing or only operands. `seconds` is None if unknown.
    """

    stage: str
    name: str
    flag: str
    changed: bool
    effect: tuple[tuple[str, int], ...]
    instructions: int
    seconds: float | None = None


@dataclass(slots=True)
class _ModuleSummary:
    """The module after a pass: its lines without noise, and how often it has each instruction."""

    lines: list[str]
    counts: Counter[str]


def record_llvm_passes(
    text: str,
    target: Target,
    options: Mapping[str, Any],
    assembly: str,
    metadata: Mapping[str, Any],
    environment: Mapping[str, str],
) -> tuple[LlvmPass, ...]:
    """Compiles TTGIR down to the assembly and returns LLVM's passes in order. Raises RebuildError."""
    passes: list[LlvmPass] = []

    def read(errors: IO[str]) -> None:
        passes.extend(parse_dump(islice(errors, _MAX_LINES)))

    variables = {**environment, **VARIABLES}
    if also := environment.get("DISABLE_LLVM_OPT"):
        variables["DISABLE_LLVM_OPT"] = f"{also},{VARIABLES['DISABLE_LLVM_OPT']}"
    rebuild(
        "ttgir",
        text,
        target,
        options,
        metadata=metadata,
        environment=variables,
        until=assembly,
        seconds=_MAX_SECONDS,
        read_errors=read,
    )
    return tuple(passes)


def parse_dump(lines: Iterable[str]) -> list[LlvmPass]:
    """Return the passes in what LLVM printed, in order."""
    passes: list[LlvmPass] = []
    seconds: dict[str, float] = {}
    before = {False: _ModuleSummary([], Counter()), True: _ModuleSummary([], Counter())}
    for stage, header, body in _sections(lines, seconds):
        machine = header[0].startswith("#")
        after = _module(body)
        passes.append(_pass(stage, header[1], before[machine], after))
        before[machine] = after
    return _timed(passes, seconds)


def _sections(
    lines: Iterable[str], seconds: dict[str, float]
) -> Iterator[tuple[str, tuple[str, str], list[str]]]:
    """Yield the stage, header and lines of each dump; add the tables of times to `seconds`."""
    stage, header, body, in_table = "", None, list[str](), False
    for whole in lines:
        line = whole.rstrip("\n")
        match = _HEADER.fullmatch(line) if "IR Dump After" in line else None
        ends = match is not None or line.startswith((STAGE_MARK, "===--"))
        if ends and header is not None:
            yield stage, header, body
            header, body = None, []
        if match is not None:
            header, in_table = (line, match["name"]), False
        elif line.startswith(STAGE_MARK):
            stage, in_table = line.removeprefix(STAGE_MARK), False
        elif _TABLE in line:
            in_table = True
        elif header is not None:
            body.append(line)
        elif in_table and (timed := _TIMED.fullmatch(line)):
            wall = _SECONDS.findall(line)[-1]
            seconds[timed["name"].strip()] = float(wall)
    if header is not None:
        yield stage, header, body


def _module(body: Iterable[str]) -> _ModuleSummary:
    content_lines = (line for line in body if not _SKIPPED.match(line))
    lines = [text for line in content_lines if (text := _NOISE.sub("", line).strip())]
    return _ModuleSummary(lines, Counter(filter(None, map(_opcode, lines))))


def _opcode(line: str) -> str:
    """Return the instruction on a line of LLVM IR or of machine code.

    Returns "" for labels, declarations and the like.
    """
    match = _OPCODE.match(line)
    if match is None or line.endswith(":") or line.startswith("@"):
        return ""
    opcode = match[1]
    return "" if opcode.startswith(_NOT_INSTRUCTIONS) else opcode


def _pass(stage: str, name: str, before: _ModuleSummary, after: _ModuleSummary) -> LlvmPass:
    parts = _FLAG.fullmatch(name)
    changes = {op: after.counts[op] - before.counts[op] for op in {*before.counts, *after.counts}}
    effect = sorted(((op, n) for op, n in changes.items() if n), key=lambda pair: (-abs(pair[1]), pair[0]))
    first = not before.lines
    return LlvmPass(
        stage,
        parts["title"] if parts else name,
        parts["flag"] if parts else "",
        not first and before.lines != after.lines,
        () if first else tuple(effect),
        after.counts.total(),
    )


def _timed(found: list[LlvmPass], seconds: Mapping[str, float]) -> list[LlvmPass]:
    """Return the passes with their times: the table has the second run of a pass as "NAME #2"."""
    times = {}
    for name, value in seconds.items():
        repeated = _REPEATED.fullmatch(name)
        times[(repeated[1], int(repeated[2])) if repeated else (name, 1)] = value
    runs: Counter[str] = Counter()
    result = []
    for llvm_pass in found:
        runs[llvm_pass.name] += 1
        result.append(replace(llvm_pass, seconds=times.get((llvm_pass.name, runs[llvm_pass.name]))))
    return result
