"""Print one stage of a variant: source, ttir, ttgir, llir, ptx, sass, amdgcn, cubin, hsaco.

--stage python prints the kernel's own source, error a failed variant's whole message, log what ptxas
said. SASS is made from the cubin when it is first asked for. A binary stage goes to a pipe or to -o FILE.

example: irscope show matmul.irscope BLOCK_M=64,num_warps=4 --stage ttgir
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from irscope.cli import options
from irscope.model import UserError
from irscope.model.text import printable
from irscope.workspace import Workspace, check_stage

NAME = "show"
SUMMARY = "print one stage of a variant"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "variant", "VARIANT")
    parser.add_argument("--stage", default="ttgir", help="default: ttgir")
    parser.add_argument("--no-loc", action="store_true", help="leave source locations out")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the stage to FILE as it is")
    parser.add_argument("--force", action="store_true", help="replace FILE where it exists")


def run(args: argparse.Namespace) -> int:
    """Prints or writes the stage. Raises UserError where there is no such thing."""
    stage = check_stage(args.stage, with_texts=True)
    with Workspace(args.capture) as workspace:
        content = workspace.content(workspace.variant(args.variant), stage.name)
    if args.no_loc and stage.language:
        from irscope.languages.registry import strip_debug

        text = strip_debug(content.decode("utf-8", "replace"), stage.language)
        content = text.encode()
    if args.output:
        _write(args.output, content, args.force)
    elif stage.language is None:
        if sys.stdout.isatty():
            raise UserError(f"{stage.name} is binary: send it to a pipe or name a file with -o")
        sys.stdout.buffer.write(content)
    else:
        _print(content.decode("utf-8", "replace"), stage.language)
    return 0


def _print(text: str, language: str) -> None:
    text = printable(text)
    if options.paint().colour:
        from irscope.report.terminal.highlight import highlighted

        text = highlighted(text, language)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def _write(path: Path, content: bytes, force: bool) -> None:
    try:
        with path.open("wb" if force else "xb") as file:
            file.write(content)
    except FileExistsError as error:
        raise UserError(f"{path} exists; choose another name with -o or replace it with --force") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
