"""Nesting: split and search text only outside of its inner brackets.

    "dim = 1, parent = #ttg.blocked<{order = [1, 0], ...}>"
    -> ["dim = 1", "parent = #ttg.blocked<{order = [1, 0], ...}>"]

Splitting at every comma would cut the nested layout into pieces. Strings and `->` are never brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

ALL = "()[]{}<>"

# The closing quote is optional, so an unclosed string is scanned once and not again from each quote in it.
STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?'


def delimiters(
    text: str, start: int = 0, brackets: str = ALL, others: str = ","
) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield each bracket and each match of `others`, with the number of brackets open around it.

    `brackets` are pairs of an opening and a closing character; `others` is a regular expression. A
    bracket and its counterpart differ by one: the opening one of an outermost pair has depth 0,
    the closing one 1. An unmatched closing bracket has depth 0.
    """
    opening, closing = brackets[::2], brackets[1::2]
    depth = 0
    for match in _pattern(brackets, others).finditer(text, start):
        mark = match[0]
        if mark[0] == '"':
            continue
        yield depth, match
        if mark in opening:
            depth += 1
        elif depth and mark in closing:
            depth -= 1


def split_outermost(text: str, separators: str = ",", brackets: str = ALL) -> list[str]:
    """`text` split at the separator characters outside of brackets; blank parts are dropped."""
    parts: list[str] = []
    start = 0
    for depth, match in delimiters(text, 0, brackets, f"[{re.escape(separators)}]"):
        if depth == 0 and match[0] in separators:
            parts.append(text[start : match.start()])
            start = match.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def closing_bracket(text: str, start: int, brackets: str) -> int | None:
    """Return the index of the bracket that closes the one at `start`; None if it is never closed."""
    for depth, match in delimiters(text, start, brackets, "(?!)"):
        if depth == 1 and match[0] == brackets[1]:
            return match.start()
    return None


@cache
def _pattern(brackets: str, others: str) -> re.Pattern[str]:
    return re.compile(f"{STRING}|->|[{re.escape(brackets)}]|{others}")
