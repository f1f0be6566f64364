"""Show what each compiler pass did to a variant, or in which pass two variants diverge.

The capture must have been made with --passes. A pass is named by its number in the list or by its name.
With two variants, the passes are side by side, below the first after which the two differ in more than
shapes; --show then compares the two modules after the pass, instead of the modules before and after it.
--llvm lists the passes inside LLVM instead, by how many instructions each added or removed, with the time of
those of the code generator, and what ptxas -v says; it needs no --passes.

example: irscope passes matmul.irscope '#1' '#2' --changed
"""

from __future__ import annotations

import argparse
import sys

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import Comparison, Workspace
from irscope.workspace.pass_comparison import operation_history, pass_changes, pass_report

NAME = "passes"
GROUP = "show"
SUMMARY = "show what each compiler pass did, or where two variants diverge"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "a", "VARIANT")
    parser.add_argument("b", metavar="B", nargs="?", help="a second variant to compare with")
    parser.add_argument("--changed", action="store_true", help="only passes that changed the module")
    parser.add_argument("--name", metavar="GLOB", default="*", help="only passes matching GLOB")
    parser.add_argument(
        "--line",
        metavar="N",
        type=options.count,
        help="only passes that touched line N of the Python source",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", metavar="PASS", help="print what a pass changed, by its number or name")
    what.add_argument(
        "--operation",
        metavar="STAGE:LINE",
        help="list the passes that created or changed the operation in that line of a stage",
    )
    what.add_argument(
        "--llvm",
        action="store_true",
        help="LLVM's own passes and ptxas's statistics, for which the TTGIR is compiled again",
    )
    options.add_document_format(parser)
    options.add_context(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Print the report. Raises UserError if the variant does not exist or its passes were not recorded."""
    from irscope.document.pass_content import operation_text

    if args.llvm:
        return _print_llvm(args)
    with Workspace(args.capture) as workspace:
        a = workspace.variant(args.a)
        pair = workspace.compare(a, a if args.b is None else workspace.variant(args.b))
        if args.operation is not None:
            events = operation_history(workspace, a, args.operation)
            sys.stdout.writelines(f"{operation_text(event)}\n" for event in events)
        elif args.show is not None:
            _print_changes(pair, args)
        else:
            _print_list(pair, args)
    return 0


def _print_llvm(args: argparse.Namespace) -> int:
    """Print LLVM's passes. Raises UserError if the variant cannot be compiled again here."""
    from irscope.document.pass_content import llvm_content
    from irscope.workspace.pass_comparison import llvm_report

    if args.b is not None or args.name != "*" or args.line is not None:
        raise UserError("--llvm applies to one variant, without --name and --line")
    with Workspace(args.capture) as workspace:
        report = llvm_report(workspace, workspace.variant(args.a), args.changed)
    if args.format == "json":
        from irscope.document.json.variant import llvm_document

        options.print_json(llvm_document(report, str(args.capture)))
    else:
        options.print_document(llvm_content(report), args)
    return 0


def _print_changes(pair: Comparison, args: argparse.Namespace) -> None:
    from irscope.document.pass_content import pass_change_content

    for change in pass_changes(pair, args.show):
        options.print_document(pass_change_content(change, args.context), args)


def _print_list(pair: Comparison, args: argparse.Namespace) -> None:
    report = pass_report(pair, name=args.name, changed=args.changed, line=args.line)
    if args.format == "json":
        from irscope.document.json.variant import passes_document

        options.print_json(passes_document(report))
    else:
        from irscope.document.pass_content import passes_content

        options.print_document(passes_content(report), args)
