"""Print a stage of a variant: source, glir, ttir, ttgir, llir, ptx, sass, amdgcn, cubin, hsaco.

--stage python prints the kernel's own source, error the whole message of a failed variant, log what ptxas
printed. SASS is derived from the cubin when it is first needed. A binary stage needs a pipe or -o FILE.

example: irscope show matmul.irscope BLOCK_M=64,num_warps=4 --stage ttgir
"""

from __future__ import annotations

import argparse
import sys

from irscope.cli import options
from irscope.model import UserError
from irscope.model.files import write_output
from irscope.model.text import printable
from irscope.workspace import Workspace
from irscope.workspace.variant_texts import check_stage

NAME = "show"
GROUP = "show"
SUMMARY = "print a stage of a variant"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "variant", "VARIANT")
    parser.add_argument("--stage", default="ttgir", help="default: ttgir")
    parser.add_argument("--no-loc", action="store_true", help="omit source locations")
    options.add_file(parser, "write the stage to FILE, byte for byte")


def run(args: argparse.Namespace) -> int:
    """Print or write the stage. Raises UserError if the variant lacks it."""
    options.check_output(args, args.capture)
    stage = check_stage(args.stage, with_texts=True)
    with Workspace(args.capture) as workspace:
        content = workspace.content(workspace.variant(args.variant), stage.name)
    if args.no_loc and stage.language:
        from irscope.workspace import Language

        content = Language.named(stage.language).without_debug(content.decode("utf-8", "replace")).encode()
    if args.output:
        write_output(args.output, content, args.force)
    elif stage.language is None:
        if sys.stdout.isatty():
            raise UserError(f"{stage.name} is binary: write it to a pipe, or to a file with -o")
        sys.stdout.buffer.write(content)
    else:
        _print(content.decode("utf-8", "replace"), stage.language)
    return 0


def _print(text: str, language: str) -> None:
    text = printable(text)
    if options.paint().color:
        from irscope.document.terminal.highlight import highlighted

        text = highlighted(text, language)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
