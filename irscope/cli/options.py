"""Arguments that several commands share, and what they select. Standard library and store only."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from irscope.report.terminal.paint import Paint

_CONTEXT = 3


def add_capture(parser: argparse.ArgumentParser) -> None:
    """CAPTURE."""
    parser.add_argument("capture", metavar="CAPTURE", type=Path, help="the capture file")


def add_variant(parser: argparse.ArgumentParser, name: str, metavar: str) -> None:
    """A variant's name."""
    parser.add_argument(name, metavar=metavar, help="#3, or any part of its name in irscope list")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """--kernel and --target."""
    parser.add_argument("--kernel", metavar="NAME", help="only the variants of this kernel")
    parser.add_argument("--target", metavar="TARGET", help="only those for this target, such as cuda:90")


def add_format(parser: argparse.ArgumentParser, *choices: str) -> None:
    """--format; the first choice is the default."""
    parser.add_argument("--format", choices=choices, default=choices[0], help=f"default: {choices[0]}")


def add_context(parser: argparse.ArgumentParser) -> None:
    """--context: how many equal rows are shown around a change."""
    parser.add_argument(
        "--context",
        metavar="N",
        type=count,
        default=_CONTEXT,
        help=f"equal rows around a change ({_CONTEXT})",
    )


def add_width(parser: argparse.ArgumentParser) -> None:
    """--width."""
    parser.add_argument(
        "--width",
        metavar="COLUMNS",
        type=_columns,
        help="fit this width (default: the terminal's; a pipe's is unlimited)",
    )


def width_of(args: argparse.Namespace, file: TextIO | None = None) -> int | None:
    """The columns to fit: --width, or the terminal's; None where `file` (stdout) is no terminal."""
    if getattr(args, "width", None) is not None:
        return int(args.width)
    if (file or sys.stdout).isatty():
        return shutil.get_terminal_size().columns
    return None


def paint(file: TextIO | None = None) -> Paint:
    """How to style what goes to `file` (stdout): not at all where it is no terminal.

    NO_COLOR (https://no-color.org) takes the colours, not bold and reverse.
    """
    from irscope.report.terminal.paint import Paint

    terminal = (file or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"
    return Paint(attributes=terminal, colour=terminal and not os.environ.get("NO_COLOR"))


def split_names(values: Sequence[str] | None) -> list[str] | None:
    """The names in the values of a repeated option such as `--stage a,b`, None where it was not given."""
    if not values:
        return None
    return list(dict.fromkeys(name for value in values for name in value.split(",") if name))


def count(text: str) -> int:
    """A number that is 0 or more, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("a number, 0 or more")
    return int(text)


def _columns(text: str) -> int:
    if not text.isdecimal() or int(text) < 20:
        raise argparse.ArgumentTypeError("a number of columns, 20 or more")
    return int(text)
