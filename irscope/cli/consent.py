"""Asks before a command executes code that a capture names or has, and that may be somebody else's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from irscope.cli.options import Arguments
from irscope.model import UserError
from irscope.model.errors import print_note
from irscope.model.text import one_line

_YES = ("y", "yes")
_MOST_LISTED = 3


def add_trust(parser: Arguments) -> None:
    """--trust."""
    parser.add_argument(
        "--trust", action="store_true", help="execute code of a CAPTURE that was not compiled here"
    )


def require_consent(
    args: argparse.Namespace, capture: Path, code: Sequence[str], otherwise: str = ""
) -> None:
    """Ask on a terminal whether to execute the code of a capture, each a line; do nothing without any.

    `otherwise` is what to do if not. Raise UserError if the user declines, or there is no terminal.
    """
    if args.trust or not code:
        return
    listed = [one_line(line) for line in code[:_MOST_LISTED]]
    listed += [f"and {len(code) - _MOST_LISTED} more"] if len(code) > _MOST_LISTED else []
    if sys.stdin.isatty() and sys.stderr.isatty():
        print_note(f"{one_line(str(capture))} was not made here, and this executes")
        print("\n".join(f"  {line}" for line in listed), file=sys.stderr)
        print("Execute it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in _YES:
            return
        raise UserError("nothing was executed")
    advice = f"add --trust if you would run it{otherwise}"
    raise UserError(f"{capture}: was not made here, and this executes {', '.join(listed)}: {advice}")
