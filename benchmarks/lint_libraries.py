"""Counts the findings of `irscope lint` in kernel libraries: python benchmarks/lint_libraries.py FOLDER.

FOLDER has a folder per library with its Python files (`pip download`, unpacked). Prints the number of
findings per rule and library, and the time. --list prints the findings, to check them by hand; --skip skips
files whose path contains its value (compilers other than NVIDIA's and AMD's).
"""

from __future__ import annotations

import argparse
import time
import tokenize
from collections import Counter
from pathlib import Path

from irscope.lint.diagnostic import Diagnostic
from irscope.lint.linter import lint_source
from irscope.lint.rules import SOURCE_RULES
from irscope.lint.source.python_module import PythonModule

RULES = frozenset(rule.name for rule in SOURCE_RULES)


def main() -> None:
    """Lints every library and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--skip", action="append", default=[])
    args = parser.parse_args()
    total: Counter[str] = Counter()
    files, kernels, started = 0, 0, time.perf_counter()
    for library in sorted(path for path in args.folder.iterdir() if path.is_dir()):
        counts: Counter[str] = Counter()
        own = 0
        for file in sorted(library.rglob("*.py")):
            name = str(file.relative_to(args.folder))
            if any(part in name for part in args.skip):
                continue
            read = lint(file, name)
            if read is None:
                continue
            files += 1
            own += read[0]
            counts.update(problem.rule.name for problem in read[1])
            for problem in read[1] if args.list else ():
                print(f"{problem.file}:{problem.line}: {problem.rule.name}: {problem.message}")
        kernels += own
        total += counts
        found = ", ".join(f"{name} {number}" for name, number in counts.most_common()) or "nothing"
        print(f"{library.name} ({own} kernels): {found}", flush=True)
    print(f"\n{files} files with {kernels} kernels in {time.perf_counter() - started:.0f} s")
    for rule in SOURCE_RULES:
        print(f"{rule.name:24} {total[rule.name]:5}")


def lint(file: Path, name: str) -> tuple[int, list[Diagnostic]] | None:
    """The kernels in a file and the findings; None if it is not valid Python or has no kernel."""
    try:
        with tokenize.open(file) as stream:
            text = stream.read()
        if "triton" not in text:
            return None
        return len(PythonModule(text, name).kernels), lint_source(text, name, RULES)
    except (SyntaxError, ValueError) as error:
        print(f"{name}: not read: {error}")
        return None


if __name__ == "__main__":
    main()
