"""Say in a few lines what matters about a variant: can it launch, what limits it, what to try next.

For scripts and agents that edit a kernel, and for a first look. With --against, also how it differs from
another variant. Without VARIANT, one verdict per variant. A launch is needed for the bound: the one that the
capture has, or --launch. Exit code 1 if a variant failed to compile or cannot launch.

example: irscope verdict matmul.irscope '#4' --against '#1'
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.workspace import Verdict

NAME = "verdict"
GROUP = "show"
SUMMARY = "say whether a variant launches, what limits it and what to try"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    parser.add_argument(
        "variant", metavar="VARIANT", nargs="?", help="#3, or any part of its name in irscope list"
    )
    parser.add_argument("--against", metavar="VARIANT", help="also compare with this variant")
    parser.add_argument(
        "--launch", metavar="LAUNCH", help='estimate for this launch: "grid=(cdiv(M, BLOCK_M),), M=4096"'
    )
    options.add_selection(parser)
    options.add_document_format(parser)


def run(args: argparse.Namespace) -> int:
    """Print the verdicts. Raises UserError if a variant does not exist or the launch does not fit."""
    if args.variant is not None and (args.kernel or args.target):
        raise UserError("--kernel and --target select variants; leave them out with VARIANT")
    with Workspace(args.capture) as workspace:
        verdicts = _verdicts(workspace, args)
        if args.format == "json":
            from irscope.document.json.estimates import verdicts_document

            options.print_json(verdicts_document(str(workspace.path), verdicts))
        else:
            from irscope.document.variant_content import verdict_content

            blocks = [block for verdict in verdicts for block in verdict_content(verdict)]
            options.print_document(blocks, args)
    return int(any(verdict.launchable is False for verdict in verdicts))


def _verdicts(workspace: Workspace, args: argparse.Namespace) -> list[Verdict]:
    against = workspace.variant(args.against) if args.against is not None else None
    if args.variant is not None:
        variants = [workspace.variant(args.variant)]
    else:
        variants = workspace.select(args.kernel, args.target)
    return [workspace.verdict(variant, against, args.launch) for variant in variants]
