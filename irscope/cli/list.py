"""List the kernels and variants of a capture, with the names that other commands take.

A variant is called by its number (#3), its short name, or any part of the name that fits only one.

example: irscope list matmul.irscope
"""

from __future__ import annotations

import argparse
import sys

from irscope.cli import options

NAME = "list"
SUMMARY = "list the kernels and variants of a capture"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    options.add_selection(parser)
    options.add_format(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Prints the list. Raises UserError where the capture cannot be read."""
    from irscope.report.json.records import to_json
    from irscope.report.terminal.listing import list_document, list_text
    from irscope.workspace import Workspace

    with Workspace(args.capture) as workspace:
        names, chosen = workspace.names, workspace.select(args.kernel, args.target)
    if args.format == "json":
        sys.stdout.write(to_json(list_document(chosen, names, str(args.capture))))
    else:
        sys.stdout.write(list_text(chosen, names, options.width_of(args)))
    return 0
