"""Show what differs between two variants: findings, a line per stage, then the rows.

Names of values, registers and labels, alias numbers and locations carry no meaning: stages that differ
only in them are equal. The rows are those of the first stage that differs in more than shapes, or of
--stage; on a wide terminal (140 columns) side by side. --stage all omits SASS that was not derived yet.
Ten findings and 80 rows are shown unless you ask for more; --format unified and json have all rows.
Two captures (irscope diff OLD NEW) are compared variant by variant, worst first. With --fail-on, the exit
code is 1 if a condition is true for a variant, or if nothing could be compared.

example: irscope diff matmul.irscope BLOCK_M=64 BLOCK_M=128 --stage ttgir
  irscope diff old.irscope new.irscope --fail-on "spills>0, registers>+10%, worse" --format github
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.document.report_content import PairReport
    from irscope.workspace import Comparison, GateResult

NAME = "diff"
GROUP = "show"
SUMMARY = "show what differs between two variants, or two captures"

# More than a person reads; the JSON has all.
_MAX_PAIRS = 20
_MAX_ROWS = 80
# These report only what conditions find.
_NEED_CONDITIONS = ("github", "junit", "sarif")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    parser.add_argument(
        "a", metavar="A", help="#3, or any part of its name in irscope list; or a second capture"
    )
    parser.add_argument("b", metavar="B", nargs="?", help="the other variant; omit it to compare captures")
    parser.add_argument(
        "--stage", help="a stage, all, or none (default: the first that differs in more than shapes)"
    )
    options.add_ci_format(parser, "text", "unified", "json")
    parser.add_argument(
        "--fail-on",
        metavar="CONDITIONS",
        action="append",
        default=[],
        help='exit code 1 if one is true: "spills>0, registers>+10%%, worse"; can be repeated',
    )
    options.add_pair_launch(parser)
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
    """Print the comparison. Raises UserError if the variant, stage or capture does not exist."""
    if args.fail_on and args.format == "unified":
        raise UserError("--format unified has only rows; --fail-on needs text, json or another format")
    if not args.fail_on and args.format in _NEED_CONDITIONS:
        raise UserError(
            f"--format {args.format} reports what --fail-on finds; add conditions: --fail-on worse"
        )
    if args.b is None:
        return _captures(args)
    from irscope.document.report_content import pair_report

    with Workspace(args.capture) as workspace:
        comparison = workspace.compare(workspace.variant(args.a), workspace.variant(args.b), args.launch)
        gate = _gate_pair(comparison, args.fail_on) if args.fail_on else None
        report = pair_report(comparison, args.stage)
    if args.format == "json":
        from irscope.document.json.comparison import diff_document

        options.print_json(_with_gate(diff_document(report, args.context), gate))
    elif gate is None or args.format not in options.CI_FORMATS:
        _print(report, args)
    return _print_gate(gate, args)


def _gate_pair(comparison: Comparison, fail_on: list[str]) -> GateResult:
    from irscope.workspace.gate import gate_pair

    return gate_pair(comparison, fail_on)


def _with_gate(document: dict[str, Any], gate: GateResult | None) -> dict[str, Any]:
    from irscope.document.json.comparison import gate_record

    return document if gate is None else {**document, "gate": gate_record(gate)}


def _print_gate(gate: GateResult | None, args: argparse.Namespace) -> int:
    """Print what the conditions found, unless the format is JSON, which has it; returns the exit code."""
    if gate is None:
        return 0
    if args.format in options.CI_FORMATS:
        from irscope.document.ci.reports import gate_report

        options.print_ci(gate_report(gate), args)
    elif args.format != "json":
        from irscope.document.comparison_content import gate_content

        print()
        options.print_document(gate_content(gate), args)
    return int(gate.failed)


def _print(report: PairReport, args: argparse.Namespace) -> None:
    if args.format == "unified":
        from irscope.document.terminal.stage_text import diff_unified

        lines = diff_unified(report, args.context, options.paint())
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    from irscope.document.comparison_content import diff_content

    rows = None if args.all_rows else args.rows
    options.print_document(diff_content(report, args.context, rows, args.all_findings), args)


def _captures(args: argparse.Namespace) -> int:
    from irscope.cli.progress import count_on_stderr
    from irscope.workspace.capture_comparison import compare_captures
    from irscope.workspace.gate import gate_captures

    path = Path(args.a)
    if not path.is_file():
        raise UserError(f"'{args.a}' is not a capture; name two variants, or a second capture")
    if args.stage is not None or args.format == "unified":
        raise UserError("two captures have no rows to show; name one capture and two of its variants")
    with Workspace(args.capture) as old, Workspace(path) as new:
        comparison = compare_captures(old, new)
        gate = None
        if args.fail_on:
            report = count_on_stderr("executing ")
            gate = gate_captures(old, new, comparison, args.fail_on, args.launch, report)
    if args.format == "json":
        from irscope.document.json.comparison import captures_document

        options.print_json(_with_gate(captures_document(comparison), gate))
    elif gate is None or args.format not in options.CI_FORMATS:
        from irscope.document.comparison_content import captures_content

        options.print_document(captures_content(comparison, _MAX_PAIRS), args)
    return _print_gate(gate, args)
