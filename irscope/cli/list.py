"""List the kernels and variants of a capture, with the names that other commands take.

A variant is named by its number (#3), its short name, or any part of the name that matches only one.

example: irscope list matmul.irscope
"""

from __future__ import annotations

import argparse
import sys

from irscope.cli import options

NAME = "list"
GROUP = "show"
SUMMARY = "list the kernels and variants of a capture"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    options.add_selection(parser)
    options.add_format(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Print the list. Raises UserError if the capture cannot be read."""
    if args.format == "json":
        from irscope.document.json.capture import list_document
        from irscope.workspace import Workspace

        with Workspace(args.capture) as workspace:
            names, variants = workspace.names, workspace.select(args.kernel, args.target)
            options.print_json(list_document(variants, names, str(args.capture)))
        return 0
    from irscope.document.terminal.list_text import list_text
    from irscope.workspace import CaptureReader

    with CaptureReader(args.capture) as capture:
        variants, names = capture.listing(args.kernel, args.target)
    sys.stdout.writelines(list_text(variants, names, options.width_of(args)))
    return 0
