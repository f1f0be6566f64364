"""Runs programs of public libraries under `irscope run` without a GPU: python benchmarks/programs.py CORPUS.

    python benchmarks/programs.py CORPUS [--site FOLDER] [--only WORD] [--json FILE]

CORPUS has a folder per library (see programs.toml for repositories and commits), the site folder the
packages that they import (numpy, einops, transformers, pytest, ...), installed with `pip install --target`.
Each program runs in a process of its own. launch_counter/ counts independently what it asks Triton's JIT for.
A program's outcome is:

- whole: it ended with exit code 0, and the capture has every kernel and variant that was counted
- stopped: it ended early, and irscope printed a line that says why and what to do
- failed: it ended with an error of its own; the capture has what was counted until then
- empty: it ended with exit code 0 without a kernel, and irscope said so
- INCOMPLETE, EMPTY, HANGS: a defect of irscope

Prints a line per program; --json also writes them to a file, --keep keeps the captures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import tomllib

from irscope.store.reader import CaptureReader

HERE = Path(__file__).resolve().parent
COUNTER = HERE / "launch_counter"
# Parts of the lines by which irscope says what to do if a program cannot go on.
ADVICE = ("capture on a GPU", "is missing: install it")


@dataclass(frozen=True)
class Library:
    """A library in the corpus; `paths` are the import paths below its folder."""

    name: str
    repository: str
    commit: str
    folder: str
    paths: tuple[str, ...] = (".",)


@dataclass(frozen=True)
class Program:
    """A program: a script of the library, a module with arguments, or a text of our own."""

    library: Library
    name: str
    target: str = "cuda:90"
    code: str = ""
    script: str = ""
    module: str = ""
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    timeout: int = 1200


@dataclass(frozen=True)
class Outcome:
    """The result of a program; the counts are of the program and its processes together."""

    library: str
    program: str
    target: str
    outcome: str
    kernels: int
    counted_kernels: int
    variants: int
    counted_variants: int
    failed: int
    launches: int
    seconds: float
    line: str = ""


def main() -> None:
    """Runs the programs and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, nargs="+")
    parser.add_argument("--site", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="keep captures and outputs in this folder")
    args = parser.parse_args()
    outcomes = []
    for program in programs():
        name = f"{program.library.name} {program.name}"
        if args.only and not any(word in f"{program.library.name}: {program.name}" for word in args.only):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = args.keep / name.replace(" ", "_").replace("/", "_") if args.keep else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            outcomes.append(run(program, args.corpus, args.site, folder, args.jobs))
        print(line_of(outcomes[-1]), flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    print(summary(outcomes))


def programs() -> Iterator[Program]:
    """The programs of programs.toml."""
    table = tomllib.loads((HERE / "programs.toml").read_text())
    libraries = {name: Library(name, **_tuples(given)) for name, given in table["libraries"].items()}
    for given in table["programs"]:
        yield Program(libraries[given.pop("library")], **_tuples(given))


def _tuples(given: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def run(program: Program, corpus: list[Path], site: Path | None, folder: Path, jobs: int) -> Outcome:
    """Runs a program in `folder` and compares its captures with the independent counts."""
    library = next(
        (at / program.library.folder for at in corpus if (at / program.library.folder).is_dir()), None
    )
    if library is None:
        return _outcome(program, "not there", {}, {}, 0.0, f"no folder {program.library.folder}")
    for old in (*folder.glob("*.irscope"), *folder.glob("*.json")):
        old.unlink()
    words = ["-m", "irscope", "run", "--target", program.target, "-j", str(jobs)]
    words += ["-o", str(folder / "program.irscope"), *program.options, *_command(program, library, folder)]
    paths = [COUNTER, *(library / path for path in program.library.paths), *([site] if site else [])]
    environment = os.environ | program.environment
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, paths)), "LAUNCH_COUNTS": str(folder)}
    environment |= {"MPLBACKEND": "agg", "TRITON_DEFAULT_FP_FUSION": "1"}
    at = (library / program.script).parent if program.script else (library if program.module else folder)
    started = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, *words], cwd=at, env=environment,
            capture_output=True, text=True, errors="replace", check=False, timeout=program.timeout,
        )  # fmt: skip
        code, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, output, errors = -1, "", (late.stderr or b"").decode(errors="replace")
    seconds = time.monotonic() - started
    (folder / "stdout.txt").write_text(output)
    (folder / "stderr.txt").write_text(errors)
    captured, counted = read_captures(folder), read_counts(folder)
    kind, line = judge(code, output, errors, captured, counted)
    return _outcome(program, kind, captured, counted, seconds, line)


def _command(program: Program, library: Path, folder: Path) -> list[str]:
    if program.code:
        (folder / "program.py").write_text(program.code.lstrip())
        return [str(folder / "program.py"), *program.arguments]
    if program.script:
        return [str(library / program.script), *program.arguments]
    return ["-m", program.module, *program.arguments]


def read_captures(folder: Path) -> dict[str, Any]:
    """The kernels, variants, failed variants and distinct launches in the captures of all processes."""
    kernels: set[str] = set()
    variants = failed = launches = 0
    for path in folder.glob("*.irscope"):
        with CaptureReader(path) as capture:
            for variant in capture.variants():
                kernels.add(variant.kernel.name)
                variants += 1
                failed += variant.failure is not None
                launches += len(variant.launches)
    return {"kernels": kernels, "variants": variants, "failed": failed, "launches": launches}


def read_counts(folder: Path) -> dict[str, Any]:
    """The sums of what launch_counter/ counted in each process."""
    counts = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return {
        "kernels": {name for count in counts for name in count["kernels"]},
        "variants": sum(count["variants"] for count in counts),
        "launches": sum(count["launches"] for count in counts),
        "failures": {name: line for count in counts for name, line in count["failures"].items()},
    }


def judge(
    code: int, output: str, errors: str, captured: dict[str, Any], counted: dict[str, Any]
) -> tuple[str, str]:
    """The outcome, and the line that explains it."""
    said = [line for line in errors.splitlines() if line.startswith("irscope: ")]
    stops = [line for line in (*said, *_raised(output)) if any(advice in line for advice in ADVICE)]
    missing = sorted(counted["kernels"] - captured["kernels"])
    last = [line for line in errors.splitlines() if line.strip() and not line.startswith("irscope: ")]
    if code == -1:
        return "HANGS", "".join(last[-1:])
    if missing or captured["variants"] < counted["variants"]:
        return "INCOMPLETE", f"missing: {', '.join(missing) or 'variants'}"
    if code == 0 and not captured["variants"]:
        return ("empty", said[0]) if said else ("EMPTY", "nothing captured and nothing said")
    if code == 0:
        return "whole", ""
    return ("stopped", stops[0]) if stops else ("failed", "".join((last + _raised(output))[-1:]))


def _raised(output: str) -> list[str]:
    """The exceptions that pytest printed."""
    return [line.removeprefix("E").strip() for line in output.splitlines() if line.startswith("E  ")]


def _outcome(
    program: Program, kind: str, captured: dict[str, Any], counted: dict[str, Any], seconds: float, line: str
) -> Outcome:
    return Outcome(
        program.library.name, program.name, program.target, kind,
        len(captured.get("kernels", ())), len(counted.get("kernels", ())),
        captured.get("variants", 0), counted.get("variants", 0), captured.get("failed", 0),
        counted.get("launches", 0), round(seconds, 1), line,
    )  # fmt: skip


def line_of(outcome: Outcome) -> str:
    """One line of the table."""
    kernels = f"{outcome.kernels}/{outcome.counted_kernels}"
    variants = f"{outcome.variants}/{outcome.counted_variants}"
    failed = f" ({outcome.failed} failed)" if outcome.failed else ""
    name = f"{outcome.library} {outcome.program} {outcome.target}"
    return (
        f"{name:60} {kernels:>7} kernels {variants:>9} variants{failed} {outcome.launches:>5} launches "
        f"{outcome.seconds:6.1f} s  {outcome.outcome}  {outcome.line[:300]}"
    )


def summary(outcomes: list[Outcome]) -> str:
    """The number of programs and libraries per outcome."""
    kinds = sorted({outcome.outcome for outcome in outcomes})
    counts = ", ".join(f"{sum(o.outcome == kind for o in outcomes)} {kind}" for kind in kinds)
    return f"{len(outcomes)} programs of {len({o.library for o in outcomes})} libraries: {counts}"


if __name__ == "__main__":
    main()
