"""`irscope diff OLD NEW`: two captures instead of two variants of one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.cli.facts import facts_of
from irscope.cli.stages import Stages
from irscope.model import UserError
from irscope.store import variant_names

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
    with Stages(args.capture) as old_stages, Stages(new) as new_stages:
        variants = old_stages.capture.variants(), new_stages.capture.variants()
        facts = facts_of(old_stages, variants[0]), facts_of(new_stages, variants[1])
    sides = Sides(
        (str(args.capture), str(new)), variants, (variant_names(variants[0]), variant_names(variants[1]))
    )
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
