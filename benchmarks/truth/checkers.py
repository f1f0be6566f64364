"""The registry of checkers: what parses a finding's sentence and recounts its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from benchmarks.truth.recount import Side

# A number in a sentence, or another part, and its recount; None if it cannot be recounted simply.
Check = tuple[str, str | None]
Checker = Callable[[re.Match[str], Side, Side], Iterator[Check]]

_PATTERNS: list[tuple[str, re.Pattern[str], Checker]] = []


def checks(kinds: str, pattern: str) -> Callable[[Checker], Checker]:
    """Registers the checker of the findings of `kinds` (a regular expression) whose text is `pattern`."""

    def register(checker: Checker) -> Checker:
        _PATTERNS.append((kinds, re.compile(pattern), checker))
        return checker

    return register


def recounted(kind: str, text: str, a: Side, b: Side) -> list[Check] | None:
    """The parts of a finding and what they should be; None if no checker knows the sentence."""
    for kinds, pattern, checker in _PATTERNS:
        if re.fullmatch(kinds, kind) and (match := pattern.fullmatch(text)):
            return list(checker(match, a, b))
    return None if re.search(r"\d", text) else []


def grouped(number: int) -> str:
    """A number as sentences have it: 24,576."""
    return f"{number:,}"


def both(match: re.Match[str], a: int, b: int) -> Iterator[Check]:
    """The groups `a` and `b` of a sentence."""
    yield match["a"], grouped(a)
    yield match["b"], grouped(b)
