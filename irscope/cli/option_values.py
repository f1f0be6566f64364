"""The values of options: numbers, times, targets, and the NAME=VALUE of --const and --config.

As in options.py, anything slow is imported inside the functions.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irscope.model import Expression, Target, Value


def target(text: str) -> Target:
    """The target called `text`. Raises UserError if it is unknown."""
    from irscope.model import UserError
    from irscope.workspace import parse_target

    if "," in text:
        raise UserError(f"'{text}' has several targets: repeat the option, as in --target A --target B")
    try:
        return parse_target(text)
    except ValueError as error:
        raise UserError(str(error)) from error


def split_names(values: Sequence[str] | None) -> list[str] | None:
    """The names in the values of a repeated option such as `--stage a,b`; None if it was not given."""
    if not values:
        return None
    return list(dict.fromkeys(name for value in values for name in value.split(",") if name))


def count(text: str) -> int:
    """A number that is 0 or more, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("must be a number, 0 or more")
    return int(text)


def duration(text: str) -> float:
    """Seconds of a time such as 90, 90s, 5m or 2h, for argparse."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("must be a time such as 90, 90s, 5m or 2h")
    return seconds


def columns(text: str) -> int:
    """A width, 20 or more, for argparse."""
    if not text.isdecimal() or int(text) < 20:
        raise argparse.ArgumentTypeError("must be a number of columns, 20 or more")
    return int(text)


def _assignment(text: str) -> tuple[str, str]:
    from irscope.model import UserError

    name, equals, value = text.partition("=")
    if not (equals and name.strip().isidentifier()):
        raise UserError(f"'{text}' is not NAME=VALUE")
    return name.strip(), value


def assigned_texts(texts: Sequence[str]) -> dict[str, str]:
    """The value of each NAME=VALUE as it was written. Raises UserError if one is something else."""
    return dict(map(_assignment, texts))


def value_texts(texts: Sequence[str]) -> dict[str, list[str]]:
    """The values of each NAME=V1,V2 as they were written: split at commas outside of brackets."""
    from irscope.model.text import split_entries

    return {name: split_entries(values) for name, values in assigned_texts(texts).items()}


def constants(texts: Sequence[str]) -> dict[str, Value | Expression]:
    """The value of each `--const`, by name. Raises UserError if one is not NAME=VALUE."""
    from irscope.model import parse_argument

    return {name: parse_argument(value) for name, value in map(_assignment, texts)}


def axes(texts: Sequence[str]) -> dict[str, tuple[Value | Expression, ...]]:
    """The values of each `--config`, by name. Raises UserError if a name has none."""
    from irscope.model import UserError, parse_argument
    from irscope.model.text import split_entries

    found: dict[str, tuple[Value | Expression, ...]] = {}
    for name, values in map(_assignment, texts):
        found[name] = tuple(map(parse_argument, split_entries(values)))
        if not found[name]:
            raise UserError(f"--config {name}=: specify at least one value")
    return found
