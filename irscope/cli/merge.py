"""Join captures into one: those of the ranks of a run, of several sweeps, of several machines.

Variants that are in several captures are there once, with the launches and benchmarks of all; numbers
are given anew, in the order of the captures.

example: irscope merge rank0.irscope rank1.irscope -o run.irscope
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

NAME = "merge"
SUMMARY = "join captures: the ranks of a run, several sweeps"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the captures and where the joined one goes."""
    parser.add_argument("captures", metavar="CAPTURE", type=Path, nargs="+", help="the captures to join")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="the capture to write"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE where it exists")


def run(args: argparse.Namespace) -> int:
    """Joins. Raises UserError where a capture cannot be read or FILE cannot be written."""
    from irscope.model.text import pluralize
    from irscope.store.merge import merge_captures

    merged = merge_captures(args.captures, args.output, args.force)
    name = shlex.quote(str(args.output))
    twice = merged.read - merged.variants
    made = f"{pluralize(merged.variants, 'variant')} of {pluralize(merged.kernels, 'kernel')}"
    print(f"{name}: {made} from {pluralize(len(args.captures), 'capture')}, {twice} there more than once")
    print(f"browse: irscope {name}   compare: irscope table {name}")
    return 0
