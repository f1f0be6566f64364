"""CPU seconds of irscope commands in two installed versions, run in turns.

    python benchmarks/two_versions.py OLD_PYTHON NEW_PYTHON CAPTURE

OLD_PYTHON and NEW_PYTHON are interpreters of two virtual environments, each with its own irscope. CAPTURE
is a capture that both can open, with two variants or more. Prints for each command the median CPU time (user
and system, children included) of both and the ratio new / old. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 7
COMMANDS = {
    "--help": ["--help"],
    "list": ["list", "{capture}"],
    "table": ["table", "{capture}"],
    "table --format json": ["table", "{capture}", "--format", "json"],
    "show --stage ttgir": ["show", "{capture}", "#1", "--stage", "ttgir"],
    "diff": ["diff", "{capture}", "#1", "#2"],
    "diff --format json": ["diff", "{capture}", "#1", "#2", "--format", "json"],
    "why": ["why", "{capture}", "#1", "#2"],
    "report": ["report", "{capture}", "--force", "-o", "{folder}/report.html"],
}


def cpu_seconds(python: str, words: list[str], folder: str) -> float:
    """User and system time of one run. Raises CalledProcessError if the command fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # In an empty folder, so that `-m` finds the installed irscope.
    quiet = subprocess.DEVNULL
    subprocess.run([python, "-m", "irscope", *words], check=True, cwd=folder, stdout=quiet, stderr=quiet)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def main() -> None:
    """Prints one line per command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("capture", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    print(f"{'command':<22} {'old s':>7} {'new s':>7} {'new/old':>8}   load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        for name, template in COMMANDS.items():
            words = [word.format(capture=args.capture.resolve(), folder=folder) for word in template]
            times: dict[str, list[float]] = {args.old: [], args.new: []}
            for number in range(args.rounds + 1):
                for python in (args.old, args.new):
                    spent = cpu_seconds(python, words, folder)
                    if number:  # the first round warms caches
                        times[python].append(spent)
            old, new = (statistics.median(times[python]) for python in (args.old, args.new))
            print(f"{name:<22} {old:7.3f} {new:7.3f} {new / old:8.2f}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
