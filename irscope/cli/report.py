"""Write a report to hand on: the table, plots, and for some pairs findings, source and diffs.

As HTML it is one page that needs no network and no other file. Without --pair it shows the pairs that tell
most. --format markdown is for an issue or a pull request: it goes to stdout, and leaves out what is longer
than GitHub takes.

example: irscope report matmul.irscope --pair '#5' '#6' -o report.html
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError, Variant
from irscope.workspace import Workspace, check_stage, encoded

if TYPE_CHECKING:
    from irscope.report.pair_report import PairReport
    from irscope.report.report import Report
    from irscope.workspace.table import TableSection

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
    with Workspace(args.capture) as workspace:
        report = report_of(workspace, args.pair, wanted, args.kernel, args.target)
    _write(_formatted(report, args.format), output)
    return 0


def report_of(
    workspace: Workspace,
    pairs: Sequence[tuple[str, str]] | None = None,
    wanted: Sequence[str] | None = None,
    kernel: str | None = None,
    target: str | None = None,
) -> Report:
    """The report on a capture.

    `pairs` are the names of two variants each (None: those with the largest effects), `wanted` the stages
    whose rows are shown (None: all that are compared), `kernel` and `target` select the tables (None: all).
    Raises UserError if a name matches nothing.
    """
    from irscope.report.report import Report

    sections = workspace.sections(kernel, target)
    return Report(
        capture=workspace.path.name,
        sections=sections,
        comparisons=list(_comparisons(workspace, _pairs(workspace, pairs, sections), wanted)),
    )


def _pairs(
    workspace: Workspace, asked: Sequence[tuple[str, str]] | None, sections: Sequence[TableSection]
) -> list[tuple[Variant, Variant]]:
    from irscope.analysis.pair_ranking import rank_pairs

    if asked is None:
        entries = [entry for section in sections for entry in section.entries]
        facts = {entry.variant.id: entry.facts for entry in entries}
        variants = sorted((entry.variant for entry in entries), key=lambda variant: variant.id)
        return rank_pairs(variants, facts, _PAIRS)
    return [(workspace.variant(a), workspace.variant(b)) for a, b in asked]


def _comparisons(
    workspace: Workspace, pairs: Sequence[tuple[Variant, Variant]], wanted: Sequence[str] | None
) -> Iterator[PairReport]:
    from irscope.report.pair_report import pair_report_of_stages

    for number, (a, b) in enumerate(pairs, 1):
        _progress(number, len(pairs))
        yield pair_report_of_stages(workspace.compare(a, b), wanted)


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
