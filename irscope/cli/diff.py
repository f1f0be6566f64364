"""Say and show what differs between two variants: findings, the stages in a line each, then the rows.

Names of values, registers and labels, alias numbers and locations carry no meaning: stages that differ
only in them are equal. Rows are those of the first stage that differs in more than shapes, or of
--stage; on a wide terminal (140 columns) side by side. --stage all leaves out SASS that is not made yet.
Two captures (irscope diff OLD NEW) are compared variant by variant: what got worse stands first.

example: irscope diff matmul.irscope BLOCK_M=64 BLOCK_M=128 --stage ttgir
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.report.pair_report import PairReport

NAME = "diff"
SUMMARY = "say and show what differs between two variants"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    parser.add_argument("a", metavar="A", help="#3, or any part of its name in irscope list; or a capture")
    parser.add_argument("b", metavar="B", nargs="?", help="the other variant; none between captures")
    parser.add_argument(
        "--stage", help="a stage, all, or none (default: the first that differs in more than shapes)"
    )
    options.add_format(parser, "text", "unified", "json", "markdown")
    options.add_context(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the comparison. Raises UserError where there is no such variant or stage."""
    if args.b is None:
        from irscope.cli.diff_captures import run_captures

        return run_captures(args)
    from irscope.report.pair_report import pair_report

    with Workspace(args.capture) as workspace:
        comparison = workspace.compare(workspace.variant(args.a), workspace.variant(args.b))
        report = pair_report(comparison, args.stage)
    for line in _formatted(report, args):
        sys.stdout.write(line + "\n")
    return 0


def _formatted(report: PairReport, args: argparse.Namespace) -> Iterator[str]:
    paint = options.paint()
    if args.format == "json":
        from irscope.report.json.diff_json import diff_document
        from irscope.report.json.records import to_json

        yield to_json(diff_document(report, args.context)).rstrip("\n")
    elif args.format == "markdown":
        from irscope.report.markdown.diff_markdown import diff_markdown

        yield from diff_markdown(report, args.context)
    elif args.format == "unified":
        from irscope.report.terminal.diff_text import diff_unified

        yield from diff_unified(report, args.context, paint)
    else:
        from irscope.report.terminal.diff_text import diff_text

        yield from diff_text(report, options.width_of(args), args.context, paint)
