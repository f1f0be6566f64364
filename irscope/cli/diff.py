"""Say and show what differs between two variants: findings, the stages in a line each, then the rows.

Names of values, registers and labels, alias numbers and locations carry no meaning: stages that differ
only in them are equal. Rows are those of the first stage that differs in more than shapes, or of
--stage; on a wide terminal (140 columns) side by side. --stage all leaves out SASS that is not made yet.
Two captures (irscope diff OLD NEW) are compared variant by variant: what got worse stands first.

example: irscope diff matmul.irscope BLOCK_M=64 BLOCK_M=128 --stage ttgir
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.cli.stages import Stages, check_stage, text_stages
from irscope.model import Variant
from irscope.store import find_variant, variant_names

if TYPE_CHECKING:
    from irscope.analysis.divergence import Divergences
    from irscope.diff.rows import StageDiff
    from irscope.report.comparison import Comparison

NAME = "diff"
SUMMARY = "say and show what differs between two variants"

_ALL, _NONE = "all", "none"
_FRONT_END = ("source", "glir")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    parser.add_argument("a", metavar="A", help="#3, or any part of its name in irscope list; or a capture")
    parser.add_argument("b", metavar="B", nargs="?", help="the other variant; none between captures")
    parser.add_argument(
        "--stage", help="a stage, all, or none (default: the first that differs in more than shapes)"
    )
    options.add_format(parser, "text", "unified", "json", "markdown")
    options.add_context(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the comparison. Raises UserError where there is no such variant or stage."""
    if args.b is None:
        from irscope.cli.diff_captures import run_captures

        return run_captures(args)
    with Stages(args.capture) as stages:
        variants = stages.capture.variants()
        pair = (find_variant(variants, args.a), find_variant(variants, args.b))
        comparison = compare(stages, variants, pair, args.stage)
    for line in _formatted(comparison, args):
        sys.stdout.write(line + "\n")
    return 0


def compare(
    stages: Stages,
    variants: Sequence[Variant],
    pair: tuple[Variant, Variant],
    asked: str | None = None,
    also: Sequence[str] = (),
) -> Comparison:
    """Everything that is to be said of two of a capture's `variants`.

    `asked` is the value of --stage; `also` are stages to be compared that are not by themselves.
    """
    from irscope.analysis.duplicates import are_duplicates
    from irscope.analysis.findings import PairContext, findings
    from irscope.cli.facts import measured
    from irscope.report.comparison import Comparison

    a, b = pair
    named = {*also, asked} - {_ALL, _NONE, None}
    diffs = _diffs(stages, a, b, [str(name) for name in named], asked == _ALL)
    facts = measured(stages, a), measured(stages, b)
    names = variant_names(variants)
    return Comparison(
        capture=str(stages.capture.path),
        variants=pair,
        names=(names[a.id], names[b.id]),
        identical=are_duplicates(a, b, *facts),
        findings=findings(PairContext(a, b, *facts, diffs, _divergences(stages, pair))),
        diffs=diffs,
        shown=_shown(diffs, asked),
    )


def _divergences(stages: Stages, pair: tuple[Variant, Variant]) -> Divergences | None:
    """Where the two diverge, if the capture has the passes of both."""
    from irscope.analysis.divergence import recorded_divergences

    a, b = (stages.capture.passes(variant) for variant in pair)
    return recorded_divergences(a, b, stages.capture.content)


def _diffs(stages: Stages, a: Variant, b: Variant, named: Sequence[str], every: bool) -> dict[str, StageDiff]:
    """The diffs of the stages that both have, in pipeline order.

    SASS is only among them where it is there already or asked for, and what comes before the first pass
    only where it is asked for: it says nothing of what the compiler did.
    """
    from irscope.diff.stage_diff import diff_stage
    from irscope.languages.registry import parse

    for name in named:
        for variant in (a, b):
            stages.text(variant, name)  # raises what there is to say where it is not there
    diffs = {}
    for name in text_stages(a):
        stored = name in a.artifacts and name in b.artifacts
        if name in named or (stored and (every or name not in _FRONT_END)):
            language = str(check_stage(name).language)
            left, right = (parse(stages.text(variant, name), language) for variant in (a, b))
            diffs[name] = diff_stage(name, left, right)
    return diffs


def _shown(diffs: dict[str, StageDiff], asked: str | None) -> list[str]:
    from irscope.diff.summary import first_structural

    if asked in (_ALL, _NONE):
        return list(diffs) if asked == _ALL else []
    if asked is not None:
        return [asked]
    first = first_structural(diffs.values()) or next((d for d in diffs.values() if not d.equal), None)
    return [first.stage] if first else []


def _formatted(comparison: Comparison, args: argparse.Namespace) -> Iterator[str]:
    paint = options.paint()
    if args.format == "json":
        from irscope.report.json.diff_json import diff_document
        from irscope.report.json.records import to_json

        yield to_json(diff_document(comparison, args.context)).rstrip("\n")
    elif args.format == "markdown":
        from irscope.report.markdown.diff_markdown import diff_markdown

        yield from diff_markdown(comparison, args.context)
    elif args.format == "unified":
        from irscope.report.terminal.diff_text import diff_unified

        yield from diff_unified(comparison, args.context, paint)
    else:
        from irscope.report.terminal.diff_text import diff_text

        yield from diff_text(comparison, options.width_of(args), args.context, paint)
