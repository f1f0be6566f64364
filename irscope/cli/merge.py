"""Merge captures into one: of the ranks of a run, of several sweeps, of several machines.

A variant in several captures is stored once, with the launches and benchmarks of all. Variants are numbered
again, in the order of the captures.

example: irscope merge rank0.irscope rank1.irscope -o run.irscope
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from irscope.cli import options

NAME = "merge"
GROUP = "capture"
SUMMARY = "merge captures, for example of the ranks of a run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the captures and the merged one."""
    parser.add_argument("captures", metavar="CAPTURE", type=Path, nargs="+", help="the captures to merge")
    options.add_file(parser, "the capture to write", required=True)


def run(args: argparse.Namespace) -> int:
    """Merge. Raises UserError if a capture cannot be read or FILE cannot be written."""
    from irscope.model.text import pluralize
    from irscope.workspace import MergedCapture

    merged = MergedCapture.write(args.captures, args.output, args.force)
    name = shlex.quote(str(args.output))
    duplicates = merged.read - merged.variants
    total = f"{pluralize(merged.variants, 'variant')} of {pluralize(merged.kernels, 'kernel')}"
    print(f"{name}: {total} from {pluralize(len(args.captures), 'capture')}, {duplicates} in more than one")
    options.print_next(args.output)
    return 0
