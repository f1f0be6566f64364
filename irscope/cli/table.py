"""Compare the variants of a capture: registers, spills, shared memory, occupancy, instructions.

The best value of a column is marked. Variants that failed or cannot launch are not ranked, and the table
says why; variants with identical machine code refer to the first of them. On a terminal, the table has the
columns that fit; in a pipe, all.

example: irscope table matmul.irscope --sort registers
  irscope table matmul.irscope --devices A100,L4,H200 --launch "grid=(1024,), M=4096, N=4096, K=4096"
"""

from __future__ import annotations

import argparse
import sys
from itertools import chain

from irscope.cli import consent, options
from irscope.model import UserError
from irscope.model.errors import print_note
from irscope.workspace import FactKind, TableSection, Workspace
from irscope.workspace.fact_table import needs_estimates
from irscope.workspace.table_sections import all_kinds, chosen_kinds

NAME = "table"
GROUP = "show"
SUMMARY = "compare the variants: registers, spills, shared memory, ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    options.add_selection(parser)
    parser.add_argument("--sort", metavar="NAME", help="sort by a fact or config value, best first")
    parser.add_argument(
        "--columns", metavar="NAME,...", action="append", help="only these facts, in this order"
    )
    parser.add_argument(
        "--estimate", action="store_true", help="also the estimated time of the first launch, and its bound"
    )
    options.add_format(parser, "text", "csv", "json", "markdown")
    options.add_width(parser)
    consent.add_devices(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table. Raises UserError if a name matches nothing."""
    if args.devices:
        return _print_devices(args)
    columns = options.split_names(args.columns)
    kinds = None if columns is None else chosen_kinds(columns)
    with Workspace(args.capture) as workspace:
        # Estimates take time, and so are only made if one is asked for.
        estimate = args.estimate or needs_estimates([args.sort or "", *(columns or ())])
        sections = workspace.sections(args.kernel, args.target, args.sort, estimate=estimate)
        _print(sections, kinds, args)
        if estimate and not any(variant.launches for variant in workspace.variants):
            reason = "no launches were recorded; irscope pick --launch estimates one that you write"
            print_note(f"no estimates: {reason}")
    return 0


def _print_devices(args: argparse.Namespace) -> int:
    """Compiles for the devices what was not compiled yet, and prints the matrix."""
    if args.format == "csv":
        raise UserError("--format csv: not with --devices; --format json has the same")
    for name in ("sort", "columns", "target"):
        if getattr(args, name):
            raise UserError(f"--{name}: not with --devices, which says what the columns are")
    matrices = consent.matrices(args)
    if args.format == "json":
        from irscope.document.json.estimates import devices_document

        options.print_json(devices_document(matrices))
        return 0
    from irscope.document.device_content import device_content

    options.print_document(device_content(matrices), args)
    return 0


def _print(sections: list[TableSection], kinds: list[FactKind] | None, args: argparse.Namespace) -> None:
    """Print the table line by line: one of 100,000 variants has 50 MB."""
    if args.format == "json":
        from irscope.document.json.capture import table_document

        options.print_json(table_document(sections, kinds or all_kinds(sections), str(args.capture)))
        return
    if args.format == "csv":
        from irscope.document.table_content import table_csv

        sys.stdout.writelines(table_csv(sections, kinds or all_kinds(sections)))
        return
    if args.format == "markdown":
        from irscope.document.markdown.reports import table_markdown

        for number, section in enumerate(sections):
            sys.stdout.write("\n" if number else "")
            sys.stdout.writelines(f"{line}\n" for line in table_markdown(section.showing(kinds)))
        return
    from irscope.document.table_content import table_content

    if not sections:
        print("no variants")
    contents = (table_content(section.showing(kinds)) for section in sections)
    options.print_document(chain.from_iterable(contents), args)
