"""Whether everything that the diff and the findings say is true, on kernels whose answer is known.

    python -m tests.truth --noop        # edits that mean nothing: no change, no finding
    python -m tests.truth --planted     # edits that mean something: exactly these are named
    python -m tests.truth --numbers     # every number in a finding, counted independently

Each part compiles the kernels of `tests/truth/kernels` and `samples` (and, with --folder, of files with
a `CASES` list) for the targets, in two processes and without a GPU. Exits with 1 if anything is false. The
full run takes tens of minutes; `--kernels 'softmax*' --targets cuda:90` takes seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from tests.truth.corpus import TARGETS, cases

# Each module has `run(cases, targets, folder) -> int`, the number of false statements; it prints its results.
PARTS = {"noop": "noop_edits", "planted": "planted_edits", "numbers": "numbers"}
Run = Callable[..., int]


def main() -> int:
    """Runs the parts that are asked for, all by default; returns the exit code."""
    args = _arguments()
    chosen = [name for name in PARTS if getattr(args, name)] or list(PARTS)
    selected = cases(args.kernels, args.folder)[: args.limit]
    false = 0
    for name in chosen:
        run: Run = import_module(f"tests.truth.{PARTS[name]}").run
        if name == "noop":
            run = partial(run, edits=args.edits)
        if name == "planted":
            run = partial(run, kernels=args.kernels)
        with tempfile.TemporaryDirectory(prefix="irscope-truth-") as folder:
            false += run(selected, args.targets, Path(folder))
    return 1 if false else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.truth", description=__doc__.partition("\n")[0])
    for name in PARTS:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--kernels", default="*", metavar="GLOB", help="only kernels whose name matches")
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), metavar="TARGET")
    parser.add_argument("--edits", default="*", metavar="GLOB", help="only no-op edits whose name matches")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N kernels")
    parser.add_argument("--folder", type=Path, help="files with more kernels and a CASES list each")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
