"""Compare the variants of a capture: what each takes of the device and what it was compiled to.

A best value is marked; what failed or cannot launch is not ranked and says why; variants with the same
machine code point at the first of them. A terminal gets the columns that fit, a pipe gets all.

example: irscope table matmul.irscope --sort registers
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from irscope.cli import options
from irscope.facts.fact import FactKind
from irscope.facts.registry import FACT_KINDS, kinds_for
from irscope.workspace import Workspace
from irscope.workspace.table import TableSection, chosen_kinds, default_kinds

NAME = "table"
SUMMARY = "compare the variants: registers, spills, shared memory, ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    options.add_selection(parser)
    parser.add_argument("--sort", metavar="NAME", help="sort by a fact or a config's value, best first")
    parser.add_argument(
        "--columns", metavar="NAME,...", action="append", help="only these facts, in this order"
    )
    options.add_format(parser, "text", "csv", "json", "markdown")
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the table. Raises UserError where a name fits nothing."""
    columns = options.split_names(args.columns)
    chosen = None if columns is None else chosen_kinds(columns, FACT_KINDS)
    with Workspace(args.capture) as workspace:
        tables = workspace.sections(args.kernel, args.target, args.sort)
    sys.stdout.write(_formatted(args, tables, chosen))
    return 0


def _formatted(
    args: argparse.Namespace, tables: Sequence[TableSection], chosen: list[FactKind] | None
) -> str:
    from irscope.report import table_formats

    backends = {section.backend for section in tables}
    every = chosen or [kind for kind in FACT_KINDS if any(kind in kinds_for(b) for b in backends)]
    if args.format == "json":
        from irscope.report.json.records import to_json

        return to_json(table_formats.table_document(tables, every, str(args.capture)))
    if args.format == "csv":
        return table_formats.table_csv(tables, every)
    if args.format == "markdown":
        return "\n".join(
            table_formats.table_markdown(section, chosen or default_kinds(section)) for section in tables
        )
    from irscope.report.terminal.table_text import table_text

    width, paint = options.width_of(args), options.paint()
    texts = (table_text(section, chosen or default_kinds(section), width, paint) for section in tables)
    return "\n".join(texts) or "no variants\n"
