"""Browse a capture in the terminal: variants and their facts, two of them side by side in every stage.

`irscope CAPTURE` is the same. In the app, ? lists the keys and q quits.

example: irscope tui matmul.irscope
"""

from __future__ import annotations

import argparse
import os
import sys

from irscope.cli import options
from irscope.model import UserError

NAME = "tui"
SUMMARY = "browse a capture in the terminal (also: irscope CAPTURE)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the app until the user quits. Raises UserError where there is no terminal or no capture."""
    from irscope.cli.stages import Stages

    with Stages(args.capture) as stages:
        # A driver of its own is what textual-serve draws with, on pipes.
        if not (sys.stdin.isatty() and sys.stdout.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
            raise UserError(f"the app needs a terminal; irscope table {args.capture} prints to a pipe")
        from irscope.tui.app import run as run_app

        return run_app(args.capture, lambda variant: stages.text(variant, "sass"))
