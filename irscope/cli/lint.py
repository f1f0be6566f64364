"""Find common mistakes in Triton kernels: in Python files, without running them, or in a capture.

Each rule has a name and a code, which --select and --ignore take; irscope explain NAME describes it. A
comment `# irscope: ignore[NAME]` on the line, or on the kernel's def or decorators, suppresses it. Exit
code 1 if there are problems, 2 if a file cannot be read.

example: irscope lint samples/ --ignore one-config
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from irscope.cli import options
from irscope.model.errors import print_note

NAME = "lint"
GROUP = "check"
SUMMARY = "find common mistakes in kernels' source or in a capture"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="a Python file, a folder of them, or a capture"
    )
    parser.add_argument("--select", metavar="RULES", action="append", help="only these, by name or code")
    parser.add_argument("--ignore", metavar="RULES", action="append", help="all except these")
    parser.add_argument(
        "--launch", metavar="LAUNCH", action="append", default=[],
        help="execute this launch of a capture's kernels instead of the recorded ones; M=1..8192: some M"
    )  # fmt: skip
    options.add_ci_format(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Print the problems; returns 1 if there are any, 2 if a file could not be read.

    Raises UserError for wrong use.
    """
    from irscope.model.text import one_line
    from irscope.workspace.linting import lint

    select, ignore = (options.split_names(names) or [] for names in (args.select, args.ignore))
    paths = [path if path.exists() else Path(options.script_path(str(path))) for path in args.paths]
    result = lint(paths, select, ignore, args.launch)
    if args.format == "json":
        from irscope.document.json.capture import lint_document

        options.print_json(lint_document(result))
    elif args.format in options.CI_FORMATS:
        from irscope.document.ci.reports import lint_report

        options.print_ci(lint_report(result), args)
    else:
        from irscope.document.variant_content import lint_content

        options.print_document(lint_content(result), args)
        sys.stdout.flush()
        for file, reason in result.unread:
            print_note(one_line(f"{file}: {reason}"))
    if args.format != "json":
        for note in result.notes:
            print_note(one_line(note))
    return 2 if result.unread else int(bool(result.problems))
