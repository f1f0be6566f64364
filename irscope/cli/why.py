"""Explain why a kernel was compiled again, and whether that was worth it.

With two variants: every component of Triton's cache key that differs; the effects; and, if the machine code
is identical, how to avoid the compilation. Without: how often each kernel was compiled and why, how much of
that was redundant, and which arguments a warm-up has to cover.

example: irscope why serving.irscope '#1' '#2'
"""

from __future__ import annotations

import argparse

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import Workspace

NAME = "why"
GROUP = "show"
SUMMARY = "explain why a kernel was compiled again, and whether that was worth it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    parser.add_argument("a", metavar="A", nargs="?", help="#3, or any part of its name in irscope list")
    parser.add_argument("b", metavar="B", nargs="?", help="the other variant")
    options.add_pair_launch(parser)
    options.add_all_findings(parser)
    options.add_document_format(parser)


def run(args: argparse.Namespace) -> int:
    """Print the report. Raises UserError if the variant does not exist."""
    if args.a is not None and args.b is None:
        raise UserError("name two variants, or none for the whole capture")
    with Workspace(args.capture) as workspace:
        if args.a is None:
            _print_capture(workspace, args)
        else:
            _print_pair(workspace, args)
    return 0


def _print_pair(workspace: Workspace, args: argparse.Namespace) -> None:
    comparison = workspace.compare(workspace.variant(args.a), workspace.variant(args.b), args.launch)
    if args.format == "json":
        from irscope.document.json.comparison import why_document

        options.print_json(why_document(comparison))
    else:
        from irscope.document.comparison_content import why_content

        options.print_document(list(why_content(comparison, args.all_findings)), args)


def _print_capture(workspace: Workspace, args: argparse.Namespace) -> None:
    kernels = workspace.compilations()
    if args.format == "json":
        from irscope.document.json.comparison import compilations_document

        options.print_json(compilations_document(str(workspace.path), kernels))
    else:
        from irscope.document.comparison_content import compilations_content

        options.print_document(compilations_content(kernels), args)
