"""Write a report to hand on: the table, plots, and for some pairs findings, source and diffs.

As HTML it is one page that needs no network and no other file. Without --pair it shows the pairs that tell
most. --format markdown is for an issue or a pull request: it goes to stdout, and leaves out what is longer
than GitHub takes.

example: irscope report matmul.irscope --pair '#5' '#6' -o report.html
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.cli.stages import Stages, check_stage, encoded, text_stages
from irscope.model import UserError, Variant
from irscope.store import find_variant, variant_names

if TYPE_CHECKING:
    from irscope.facts.fact import Fact
    from irscope.report.comparison import Comparison
    from irscope.report.report import Report

NAME = "report"
SUMMARY = "write a page to hand on: table, plots, findings and diffs"

# Pairs that are shown where none is asked for: as many as one reads.
_PAIRS = 4
_STDOUT = Path("-")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="default: NAME.html here; - for stdout"
    )
    options.add_selection(parser)
    parser.add_argument(
        "--pair",
        nargs=2,
        metavar=("A", "B"),
        action="append",
        help="compare these two; several: repeated (default: the pairs that tell most)",
    )
    parser.add_argument(
        "--stage",
        metavar="STAGE",
        action="append",
        help="only the diff of this stage; several: repeated or a,b",
    )
    options.add_format(parser, "html", "markdown")
    parser.add_argument("--force", action="store_true", help="replace FILE where it exists")


def run(args: argparse.Namespace) -> int:
    """Writes the report. Raises UserError where a name fits nothing or FILE exists."""
    wanted = options.split_names(args.stage)
    for stage in wanted or ():
        if check_stage(stage).binary:
            raise UserError(f"{stage} is binary: there is no diff of it to show")
    output = args.output or (_STDOUT if args.format == "markdown" else Path(f"{args.capture.stem}.html"))
    if output != _STDOUT and output.exists() and not args.force:
        raise UserError(f"{output} exists; choose another name with -o or replace it with --force")
    with Stages(args.capture) as stages:
        report = report_of(stages, args.pair, wanted, args.kernel, args.target)
    _write(_formatted(report, args.format), output)
    return 0


def report_of(
    stages: Stages,
    pairs: Sequence[tuple[str, str]] | None = None,
    wanted: Sequence[str] | None = None,
    kernel: str | None = None,
    target: str | None = None,
) -> Report:
    """The report on a capture.

    `pairs` are the names of two variants each (None: those that tell most), `wanted` the stages whose rows
    are shown (None: all that are compared), `kernel` and `target` what the tables have (None: all). Raises
    UserError where a name fits nothing.
    """
    from irscope.cli.facts import facts_of
    from irscope.facts.registry import FACT_KINDS
    from irscope.report.report import Report
    from irscope.report.table import entries, sections

    everything = stages.capture.variants()
    variants = options.select(everything, kernel, target)
    facts = facts_of(stages, variants)
    chosen = _pairs(pairs, everything, variants, facts)
    return Report(
        capture=stages.capture.path.name,
        sections=sections(entries(variants, variant_names(everything), facts), None, FACT_KINDS),
        comparisons=list(_comparisons(stages, everything, chosen, wanted)),
    )


def _pairs(
    asked: Sequence[tuple[str, str]] | None,
    everything: Sequence[Variant],
    variants: Sequence[Variant],
    facts: Mapping[int, Mapping[str, Fact]],
) -> list[tuple[Variant, Variant]]:
    from irscope.analysis.pair_ranking import rank_pairs

    if asked is None:
        return rank_pairs(variants, facts, _PAIRS)
    return [(find_variant(everything, a), find_variant(everything, b)) for a, b in asked]


def _comparisons(
    stages: Stages,
    everything: Sequence[Variant],
    pairs: Sequence[tuple[Variant, Variant]],
    wanted: Sequence[str] | None,
) -> Iterator[Comparison]:
    """Each pair compared; its stages are those of `wanted` that both have, or all that are compared."""
    from irscope.cli.diff import compare

    for number, pair in enumerate(pairs, 1):
        _progress(number, len(pairs))
        there = [name for name in text_stages(pair[0]) if name in text_stages(pair[1])]
        also = [name for name in there if name in (wanted or ())]
        comparison = compare(stages, everything, pair, also=also)
        yield replace(comparison, shown=list(comparison.diffs) if wanted is None else also)


def _formatted(report: Report, form: str) -> str:
    if form == "markdown":
        from irscope.report.markdown.report_markdown import report_markdown

        return report_markdown(report)
    from irscope.report.html.page import report_html

    return report_html(report)


def _write(text: str, output: Path) -> None:
    if output == _STDOUT:
        sys.stdout.write(text)
        return
    try:
        output.write_bytes(encoded(text))
    except OSError as error:
        raise UserError(f"{output}: cannot be written: {error.strerror}") from error
    print(f"{output}: {output.stat().st_size:,} bytes", file=sys.stderr)


def _progress(number: int, total: int) -> None:
    """A counter on a terminal's last line; large stages take seconds to compare."""
    if sys.stderr.isatty():
        end = "\n" if number == total else ""
        print(f"\rcomparing pair {number} of {total}", end=end, file=sys.stderr, flush=True)
