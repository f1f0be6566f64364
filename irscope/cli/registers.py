"""Explain a variant's registers: where it needs most, for which values of the kernel, and what is spilled.

Liveness is computed on the machine code: SASS, derived from the cubin, or AMDGCN. The pressure of PTX is an
estimate, because ptxas reorders instructions. A line computes its variable and addresses and masks for it.

example: irscope registers matmul.irscope '#3'
"""

from __future__ import annotations

import argparse

from irscope.cli import options
from irscope.workspace import Workspace

NAME = "registers"
GROUP = "show"
SUMMARY = "explain which values occupy the registers, and what is spilled"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "variant", "VARIANT")
    parser.add_argument(
        "--stage", help="sass, ptx or amdgcn (default: the machine code; ptx if there is no disassembler)"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=options.count,
        default=10,
        help="how many values to list (default: 10)",
    )
    options.add_document_format(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Print the report. Raises UserError if the variant or the stage does not exist."""
    with Workspace(args.capture) as workspace:
        variant = workspace.variant(args.variant)
        report = workspace.registers(variant, args.stage)
        name = workspace.names[variant.id]
    if args.format == "json":
        from irscope.document.json.variant import registers_document

        options.print_json(registers_document(str(args.capture), variant, name, report))
    else:
        from irscope.document.variant_content import registers_content

        options.print_document(registers_content(variant, name, report, args.top), args)
    return 0
