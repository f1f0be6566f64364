"""Write a report to share: the table, charts, and findings, source and diffs of some pairs.

As HTML, it is a single page that needs no network. Without --pair, it has the pairs whose facts differ
most. --slides writes a talk instead: the kernel, its configs, and two of them side by side. --format markdown
is for an issue or a pull request: it is printed, and shortened to the limit of a comment on GitHub.

example: irscope report matmul.irscope --pair '#5' '#6' -o report.html
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from irscope.cli import consent, options
from irscope.model import UserError
from irscope.model.files import write_output
from irscope.model.text import encoded
from irscope.workspace import Workspace

NAME = "report"
GROUP = "share"
SUMMARY = "write a report to share: table, charts, findings and diffs"

_STDOUT = Path("-")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
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
        help="compare these two variants; can be repeated (default: the pairs whose facts differ most)",
    )
    parser.add_argument(
        "--stage",
        metavar="STAGE",
        action="append",
        help="only the diff of this stage; a,b or repeated for several",
    )
    parser.add_argument(
        "--slides",
        action="store_true",
        help="write slides, a page with keys, notes and print; default file: NAME-slides.html",
    )
    options.add_format(parser, "html", "markdown")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    consent.add_devices(parser)


def run(args: argparse.Namespace) -> int:
    """Write the report. Raises UserError if a name matches nothing or FILE exists."""
    from irscope.document.report_content import check_has_rows

    stages = options.split_names(args.stage)
    for stage in stages or ():
        check_has_rows(stage)
    options.check_output(args, args.capture)
    if args.slides and (args.format != "html" or stages):
        raise UserError("--slides takes neither --format markdown nor --stage")
    if args.slides and args.devices:
        raise UserError("--slides takes no --devices")
    name = f"{args.capture.stem}-slides.html" if args.slides else f"{args.capture.stem}.html"
    output = args.output or (_STDOUT if args.format == "markdown" else Path(name))
    if output != _STDOUT and output.exists() and not args.force:
        raise UserError(f"{output} exists; choose another name with -o or replace it with --force")
    text = _slides(args) if args.slides else _report(args, stages)
    if output == _STDOUT:
        sys.stdout.write(text)
    else:
        write_output(output, encoded(text), args.force)
        print(f"{output}: {output.stat().st_size:,} bytes", file=sys.stderr)
    return 0


def _report(args: argparse.Namespace, wanted: list[str] | None) -> str:
    from irscope.cli.progress import count_on_stderr
    from irscope.document.report_content import capture_report

    matrices = consent.matrices(args)
    progress = count_on_stderr("comparing pair ")
    with Workspace(args.capture) as workspace:
        html = args.format == "html"
        report = capture_report(workspace, args.pair, wanted, args.kernel, args.target, html, progress)
    report = replace(report, devices=matrices)
    if args.format == "markdown":
        from irscope.document.markdown.reports import report_markdown

        return report_markdown(report)
    from irscope.document.html.report_page import report_html

    return report_html(report)


def _slides(args: argparse.Namespace) -> str:
    from irscope.cli.progress import count_on_stderr
    from irscope.document.html.slides.talk import slides_html
    from irscope.document.slide_content import slide_deck

    progress = count_on_stderr("comparing pair ")
    with Workspace(args.capture) as workspace:
        deck = slide_deck(workspace, args.pair, args.kernel, args.target, progress)
    return slides_html(deck)
