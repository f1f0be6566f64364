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
from irscope.cli.stages import Stages
from irscope.model import UserError
from irscope.report.why import Story, Why
from irscope.store import find_variant

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
    with Stages(args.capture) as stages:
        lines = list(_of_capture(stages, args) if args.a is None else _of_pair(stages, args))
    for line in lines:
        sys.stdout.write(line + "\n")
    return 0


def _of_pair(stages: Stages, args: argparse.Namespace) -> Iterator[str]:
    from irscope.analysis.cache_key_diff import recompilation, remedies
    from irscope.cli.diff import compare
    from irscope.report.json.why_json import why_document
    from irscope.report.terminal.why_text import why_markdown, why_text

    variants = stages.capture.variants()
    a, b = find_variant(variants, args.a), find_variant(variants, args.b)
    comparison = compare(stages, variants, (a, b))
    found = recompilation(a, b)
    why = Why(comparison, found, remedies(found, a, b) if comparison.identical else [])
    if args.format == "json":
        yield from _json(why_document(why))
    elif args.format == "markdown":
        yield from why_markdown(why)
    else:
        yield from why_text(why, options.paint())


def _of_capture(stages: Stages, args: argparse.Namespace) -> Iterator[str]:
    from irscope.analysis.compilations import compilations
    from irscope.cli.facts import facts_of
    from irscope.report.json.why_json import story_document
    from irscope.report.terminal.why_text import story_markdown, story_text

    variants = stages.capture.variants()
    facts = facts_of(stages, variants)
    names = dict.fromkeys(variant.kernel.name for variant in variants)
    kernels = [
        compilations(name, [variant for variant in variants if variant.kernel.name == name], facts)
        for name in names
    ]
    story = Story(str(args.capture), kernels)
    if args.format == "json":
        yield from _json(story_document(story))
    elif args.format == "markdown":
        yield from story_markdown(story)
    else:
        yield from story_text(story, options.paint())


def _json(document: dict[str, object]) -> Iterator[str]:
    from irscope.report.json.records import to_json

    yield to_json(document).rstrip("\n")
