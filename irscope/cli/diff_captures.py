"""`irscope diff OLD NEW`: two captures instead of two variants of one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.analysis.capture_diff import CaptureDiff
    from irscope.report.terminal.captures import Sides

# More than one reads; the JSON has all.
_MOST = 20


def run_captures(args: argparse.Namespace) -> int:
    """Compares the captures `args.capture` and `args.a`. Raises UserError where one cannot be read."""
    from irscope.analysis.capture_diff import compare_captures
    from irscope.report.terminal.captures import Sides

    new = Path(args.a)
    if not new.is_file():
        raise UserError(f"'{args.a}' is no capture; name two variants, or a second capture to compare with")
    if args.stage is not None or args.format == "unified":
        raise UserError("two captures have no rows to show; name one of them with two of its variants")
    with Workspace(args.capture) as old, Workspace(new) as new_:
        variants = old.variants, new_.variants
        facts = old.all_facts(), new_.all_facts()
        sides = Sides((str(args.capture), str(new)), variants, (old.names, new_.names))
    for line in _formatted(compare_captures(*variants, *facts), sides, args.format):
        sys.stdout.write(line + "\n")
    return 0


def _formatted(diff: CaptureDiff, sides: Sides, format_: str) -> Iterator[str]:
    from irscope.report.terminal.captures import captures_document, captures_markdown, captures_text

    if format_ == "json":
        from irscope.report.json.records import to_json

        yield to_json(captures_document(diff, sides)).rstrip("\n")
    elif format_ == "markdown":
        yield from captures_markdown(diff, sides, _MOST)
    else:
        yield from captures_text(diff, sides, _MOST, options.paint())
