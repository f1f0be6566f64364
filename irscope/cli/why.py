"""Say why a kernel was compiled again, and whether that was worth it.

With two variants: every component of Triton's cache key that differs, in Triton's words; what it led to;
and, where the machine code is identical, what would have spared the compilation. Without: how often each
kernel was compiled and for which reasons, how much of it was for nothing, what a warm-up has to cover.

example: irscope why serving.irscope '#1' '#2'
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from irscope.cli import options
from irscope.model import UserError
from irscope.report.pair_report import pair_report
from irscope.report.why import Story, Why
from irscope.workspace import Workspace

NAME = "why"
SUMMARY = "say why a kernel was compiled again, and whether that was worth it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    parser.add_argument("a", metavar="A", nargs="?", help="#3, or any part of its name in irscope list")
    parser.add_argument("b", metavar="B", nargs="?", help="the other variant")
    options.add_format(parser, "text", "json", "markdown")


def run(args: argparse.Namespace) -> int:
    """Prints the report. Raises UserError where there is no such variant."""
    if args.a is not None and args.b is None:
        raise UserError("name two variants, or none for the whole capture")
    with Workspace(args.capture) as workspace:
        lines = list(_of_capture(workspace, args) if args.a is None else _of_pair(workspace, args))
    for line in lines:
        sys.stdout.write(line + "\n")
    return 0


def _of_pair(workspace: Workspace, args: argparse.Namespace) -> Iterator[str]:
    from irscope.report.json.why_json import why_document
    from irscope.report.terminal.why_text import why_markdown, why_text

    comparison = workspace.compare(workspace.variant(args.a), workspace.variant(args.b))
    why = Why(pair_report(comparison, "none"), comparison.recompilation, comparison.remedies)
    if args.format == "json":
        yield from _json(why_document(why))
    elif args.format == "markdown":
        yield from why_markdown(why)
    else:
        yield from why_text(why, options.paint())


def _of_capture(workspace: Workspace, args: argparse.Namespace) -> Iterator[str]:
    from irscope.report.json.why_json import story_document
    from irscope.report.terminal.why_text import story_markdown, story_text

    story = Story(str(args.capture), workspace.compilations())
    if args.format == "json":
        yield from _json(story_document(story))
    elif args.format == "markdown":
        yield from story_markdown(story)
    else:
        yield from story_text(story, options.paint())


def _json(document: dict[str, object]) -> Iterator[str]:
    from irscope.report.json.records import to_json

    yield to_json(document).rstrip("\n")
