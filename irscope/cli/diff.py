"""Show what differs between two variants: findings, a line per stage, then the rows.

Names of values, registers and labels, alias numbers and locations carry no meaning: stages that differ
only in them are equal. The rows are those of the first stage that differs in more than shapes, or of
--stage; on a wide terminal (140 columns) side by side. --stage all omits SASS that was not derived yet.
Ten findings and 80 rows are shown unless you ask for more; --format unified and json have all rows.
Two captures (irscope diff OLD NEW) are compared variant by variant, worst first.

example: irscope diff matmul.irscope BLOCK_M=64 BLOCK_M=128 --stage ttgir
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.report.pair_report import PairReport

NAME = "diff"
SUMMARY = "show what differs between two variants, or two captures"

# More than a person reads; the JSON has all.
_MAX_PAIRS = 20
_MAX_ROWS = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    parser.add_argument(
        "a", metavar="A", help="#3, or any part of its name in irscope list; or a second capture"
    )
    parser.add_argument("b", metavar="B", nargs="?", help="the other variant; omit it to compare captures")
    parser.add_argument(
        "--stage", help="a stage, all, or none (default: the first that differs in more than shapes)"
    )
    options.add_format(parser, "text", "unified", "json", "markdown")
    options.add_all_findings(parser)
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument(
        "-n",
        "--rows",
        type=options.count,
        default=_MAX_ROWS,
        metavar="N",
        help=f"at most N rows as text or Markdown (default: {_MAX_ROWS})",
    )
    rows.add_argument("--all-rows", action="store_true", help="all rows")
    options.add_context(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the comparison. Raises UserError if the variant, stage or capture does not exist."""
    if args.b is None:
        return _captures(args)
    from irscope.report.pair_report import pair_report

    with Workspace(args.capture) as workspace:
        comparison = workspace.compare(workspace.variant(args.a), workspace.variant(args.b))
        report = pair_report(comparison, args.stage)
    if args.format == "json":
        from irscope.report.json.diff_json import diff_document

        options.print_json(diff_document(report, args.context))
    else:
        sys.stdout.writelines(f"{line}\n" for line in _lines(report, args))
    return 0


def _lines(report: PairReport, args: argparse.Namespace) -> Iterator[str]:
    from irscope.report.terminal.diff_text import DiffOptions, diff_text, diff_unified

    if args.format == "unified":
        return diff_unified(report, args.context, options.paint())
    rows = None if args.all_rows else args.rows
    shown = DiffOptions(options.width_of(args), args.context, rows, args.all_findings)
    if args.format == "markdown":
        from irscope.report.markdown.diff_markdown import diff_markdown

        return diff_markdown(report, shown)
    return diff_text(report, shown, options.paint())


def _captures(args: argparse.Namespace) -> int:
    from irscope.workspace import compare_captures

    path = Path(args.a)
    if not path.is_file():
        raise UserError(f"'{args.a}' is not a capture; name two variants, or a second capture")
    if args.stage is not None or args.format == "unified":
        raise UserError("two captures have no rows to show; name one capture and two of its variants")
    with Workspace(args.capture) as old, Workspace(path) as new:
        comparison = compare_captures(old, new)
    if args.format == "json":
        from irscope.report.json.captures_json import captures_document

        options.print_json(captures_document(comparison))
        return 0
    if args.format == "markdown":
        from irscope.report.markdown.captures_markdown import captures_markdown

        lines = captures_markdown(comparison, _MAX_PAIRS)
    else:
        from irscope.report.terminal.captures_text import captures_text

        lines = captures_text(comparison, _MAX_PAIRS, options.paint())
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0
