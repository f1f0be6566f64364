"""Times the commands that only view, side by side with those of another checkout that has its own .venv.

    python -m benchmarks.compare_trees ../other

Both compile the matmul sample first, since captures of different versions have different formats. Prints the
CPU seconds of whole processes, which take turns, and the median of the ratios pair by pair.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.compile_commands import MATMUL_SIGNATURE
from benchmarks.processes import ROOT, run

_RUNS = 15
_COMMANDS = (
    ("--help",),
    ("list", "CAPTURE"),
    ("table", "CAPTURE"),
    ("show", "CAPTURE", "#6"),
    ("diff", "CAPTURE", "#6", "#8", "--stage", "none"),
    ("diff", "CAPTURE", "#6", "#8"),
)


def _run(tree: Path, words: list[str], bytecode: Path) -> float:
    """Run a command of a checkout; return its CPU seconds, with its child processes."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(bytecode), "PYTHONDONTWRITEBYTECODE": ""}
    return run([tree / ".venv/bin/irscope", *words], environment=environment, cwd=tree).cpu


def main() -> None:
    """Prints a line per command."""
    other = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        bytecode = Path(folder) / "bytecode"
        captures = {ROOT: Path(folder) / "own.irscope", other: Path(folder) / "other.irscope"}
        for tree, capture in captures.items():
            words = ["compile", "samples/matmul.py", "--signature", MATMUL_SIGNATURE, "-o", str(capture)]
            _run(tree, words, bytecode)
        print("command".ljust(36), "own s", "other s", "ratio", sep="  ")
        for command in _COMMANDS:
            seconds: dict[Path, list[float]] = {tree: [] for tree in captures}
            for number in range(_RUNS + 1):
                for tree, capture in captures.items():
                    words = [str(capture) if word == "CAPTURE" else word for word in command]
                    spent = _run(tree, words, bytecode)
                    if number:  # the first run compiles the modules
                        seconds[tree].append(spent)
            own, others = seconds[ROOT], seconds[other]
            ratio = median(a / b for a, b in zip(own, others, strict=True))
            print(f"{' '.join(command):36}  {median(own):5.3f}  {median(others):7.3f}  {ratio:5.2f}")


if __name__ == "__main__":
    main()
