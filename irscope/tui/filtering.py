"""The filter of the table: words that a row must contain, and conditions like `registers>128`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

from irscope.model import Variant
from irscope.tui.columns import UNKNOWN, Column

_CONDITION = re.compile(r"([\w.]+)(>=|<=|!=|=|>|<)(\S+)")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "!=": operator.ne, "=": operator.eq, ">": operator.gt,
    "<": operator.lt,
}  # fmt: skip

Test = Callable[[Variant], bool]


def tests(query: str, columns: Sequence[Column]) -> list[Test]:
    """The tests that a variant must pass to be shown: one per word of `query`.

    A condition names a column by its title or name. Any other word must occur in the row, in any case.
    """
    return [_condition(word, columns) or _anywhere(word.lower(), columns) for word in query.split()]


def _condition(word: str, columns: Sequence[Column]) -> Test | None:
    match = _CONDITION.fullmatch(word)
    if match is None:
        return None
    name, sign, wanted = match.groups()
    column = next((c for c in columns if name.lower() in (c.name.lower(), c.title.lower())), None)
    if column is None:
        return None
    number = _number(wanted)
    if number is not None:
        return lambda variant: _compares(column, variant, sign, number)
    if sign in ("=", "!="):
        return lambda variant: (column.text(variant).lower() == wanted.lower()) == (sign == "=")
    return None


def _compares(column: Column, variant: Variant, sign: str, wanted: float) -> bool:
    """Compares the number of a cell; False if it is unknown or not a number."""
    key = column.key(variant)
    return key[0] < UNKNOWN[0] and not key[2] and _COMPARE[sign](key[1], wanted)


def _anywhere(word: str, columns: Sequence[Column]) -> Test:
    return lambda variant: any(word in column.text(variant).lower() for column in columns)


def _number(text: str) -> float | None:
    """Parses a number as the table shows it: `1,024`, `50%`."""
    percent = text.endswith("%")
    try:
        return float(text.rstrip("%").replace(",", "")) / (100 if percent else 1)
    except ValueError:
        return None
