"""Writes a reproducer of every sample and of kernels of public libraries, and checks each in a clean process.

    python benchmarks/reproduce.py --samples [--output FOLDER]
    python benchmarks/reproduce.py CORPUS [--site FOLDER] [--only WORD] [--output FOLDER] [--per-program 12]
    python benchmarks/reproduce.py --captures FOLDER

CORPUS has a folder per library, of which the programs of programs.toml are run without a GPU; --captures
takes captures that exist. Of each kernel and target, the first variant that compiled is reproduced. Prints a
line per reproducer: whether its machine code is that of the capture, the lines of its scaffolding
(reproduce.py) and of its kernel.py, which imports nothing but Triton, torch and the standard library.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from irscope.model import UserError, Variant, format_value
from irscope.reproducing.writing import reproduce
from irscope.store import CaptureReader

ROOT = Path(__file__).resolve().parent.parent
MOST_SCAFFOLDING = 300
IMPORTED = frozenset(["triton", "torch", "numpy"]) | sys.stdlib_module_names


@dataclass(frozen=True)
class Result:
    """A reproducer: whether it is equal and stand-alone, its lines, and what is wrong with it."""

    source: str
    kernel: str
    target: str
    equal: bool
    scaffold: int = 0
    lines: int = 0
    problem: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether it meets all that is asked of a reproducer."""
        return self.equal and not self.problem and self.scaffold < MOST_SCAFFOLDING


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, nargs="*")
    parser.add_argument("--samples", action="store_true")
    parser.add_argument("--captures", type=Path)
    parser.add_argument("--site", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--per-program", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.output or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        captures: list[tuple[str, Path]] = []
        if args.samples:
            captures += sample_captures(folder)
        if args.corpus:
            captures += library_captures(args, folder)
        if args.captures:
            captures += [(path.parent.name, path) for path in sorted(args.captures.rglob("*.irscope"))]
        results = list(reproduced(captures, folder, args))
    print(summary(results))
    return 0 if all(each.good for each in results) else 1


def sample_captures(folder: Path) -> Iterator[tuple[str, Path]]:
    """Captures of the samples: each kernel and specialization under its first config, for all its targets."""
    sys.path.insert(0, str(ROOT))
    from tests.samples.cases import CASES

    for number, case in enumerate(CASES):
        path = folder / f"{Path(case.file).stem}-{number}.irscope"
        words = [f"{ROOT / 'samples' / case.file}::{case.kernel}", "--signature", case.signature]
        for name, values in case.config.items():
            words += ["--config", f"{name}={format_value(values[0])}"]
        for name, value in case.const.items():
            words += ["--const", f"{name}={format_value(value)}"]
        for target in case.targets:
            words += ["--target", target]
        command = [sys.executable, "-m", "irscope", "compile", *words, "--force", "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode:
            print(f"{case.file}: {done.stderr[-200:]}", flush=True)
        yield f"samples/{case.file}", path


def library_captures(args: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Path]]:
    """Captures of programs that call public functions of libraries."""
    from programs import programs, run

    for program in programs():
        name = f"{program.library.name}: {program.name}"
        if (args.only and not any(word in name for word in args.only)) or program.library.name == "triton":
            continue
        scratch = folder / name.replace(" ", "_").replace("/", "_").replace(":", "")
        scratch.mkdir(exist_ok=True)
        outcome = run(program, args.corpus, args.site, scratch, args.jobs)
        print(f"{name}: {outcome.outcome}, {outcome.kernels} kernels, {outcome.line[:100]}", flush=True)
        yield from ((name, path) for path in sorted(scratch.glob("*.irscope")))


def reproduced(captures: list[tuple[str, Path]], folder: Path, args: argparse.Namespace) -> Iterator[Result]:
    """A result for each kernel and target of each capture; of a library, each kernel once."""
    known: set[tuple[str, str, str]] = set()
    tasks = []
    for source, path in captures:
        if not path.exists():
            continue
        with CaptureReader(path) as reader:
            chosen = 0
            for variant in reader.variants():
                of = path.stem if source.startswith("samples/") else source.partition(":")[0]
                key = (of, variant.kernel.name, str(variant.target))
                if variant.failure is None and key not in known and chosen < args.per_program:
                    known.add(key)
                    chosen += 1
                    tasks.append((source, path, variant, folder / "repro" / f"{len(tasks):03}"))
    with ThreadPoolExecutor(args.jobs) as pool:
        for result in pool.map(lambda task: one(*task), tasks):
            state = "equal" if result.good else "NOT EQUAL" if not result.equal else "PROBLEM"
            line = f"{state:9} {result.source}: {result.kernel} {result.target}"
            print(f"{line}, {result.scaffold} + {result.lines} lines {result.problem}", flush=True)
            yield result


def one(source: str, path: Path, variant: Variant, folder: Path) -> Result:
    """Writes and checks one reproducer."""
    place = (source, variant.kernel.name, str(variant.target))
    started = time.monotonic()
    try:
        made = reproduce(path, variant, folder, force=True)
    except UserError as error:
        return Result(*place, False, problem=str(error))
    imported = {name for file in folder.glob("*.py") for name in imports(file)}
    foreign = sorted(imported - IMPORTED - {"kernel"})
    problem = f"imports {', '.join(foreign)}" if foreign else "" if made.equal else made.outcome
    seconds = time.monotonic() - started
    return Result(*place, made.equal, made.scaffold_lines, made.kernel_lines, problem, seconds)


def imports(file: Path) -> Iterator[str]:
    """The packages that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def summary(results: list[Result]) -> str:
    """The totals of samples and libraries."""
    lines = []
    for title, samples in (("samples", True), ("libraries", False)):
        found = [each for each in results if each.source.startswith("samples/") == samples]
        if not found:
            continue
        good = sum(each.good for each in found)
        sources = {each.source.partition(":")[0] for each in found}
        most, kernel = max(each.scaffold for each in found), max(each.lines for each in found)
        seconds = sorted(each.seconds for each in found)[len(found) // 2]
        lines.append(
            f"{title}: {good} of {len(found)} reproducers of {len(sources)} have the recorded machine code "
            f"and are stand-alone; at most {most} lines of scaffolding, kernel.py at most {kernel}; "
            f"median {seconds:.1f} s each"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
