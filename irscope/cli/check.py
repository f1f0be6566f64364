"""Check the facts of a capture's variants against expectations, for example in CI.

An expectation is FACT OPERATOR VALUE, or several joined by `and`; operators are == != < <= > >= contains.
Facts are the columns of irscope table; spills, global_load_bytes and others are aliases. An expectation
about an unknown fact does not hold. `bits == #3` holds for variants that compute the same bits as #3 at each
launch. Exit code 1 if an expectation does not hold.

example: irscope check matmul.irscope --expect "spills == 0" --expect "global_load_bytes >= 16"
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import CheckRule, Workspace
from irscope.workspace.conditions import check, read_rules

NAME = "check"
GROUP = "check"
SUMMARY = "check facts against expectations, for CI"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    parser.add_argument(
        "--expect",
        metavar="EXPECTATION",
        action="append",
        default=[],
        help='for example "spills == 0"; can be repeated',
    )
    parser.add_argument(
        "--file", metavar="FILE.toml", type=Path, help="more expectations, in [[expect]] tables"
    )
    options.add_selection(parser)
    parser.add_argument("--variant", metavar="V", help="only this variant: #3, or any part of its name")
    parser.add_argument(
        "--launch",
        metavar="LAUNCH",
        help='compare bits at this launch, not those of the capture: "grid=(cdiv(M, BLOCK_M),), M=4096"',
    )
    options.add_ci_format(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Print the failures; returns 1 if there are any. Raises UserError for wrong use."""
    selection = args.kernel, args.target, args.variant, args.launch
    rules = [CheckRule(tuple(args.expect), *selection)] if args.expect else []
    if args.file is not None:
        rules += read_rules(args.file)
    if not rules:
        raise UserError("specify expectations with --expect or --file")
    with Workspace(args.capture) as workspace:
        result = check(workspace, rules)
    if args.format == "json":
        from irscope.document.json.capture import check_document

        options.print_json(check_document(result))
    elif args.format in options.CI_FORMATS:
        from irscope.document.ci.reports import check_report

        options.print_ci(check_report(result), args)
    else:
        sys.stdout.writelines(f"{line}\n" for line in result.lines)
    return 1 if result.failures else 0
