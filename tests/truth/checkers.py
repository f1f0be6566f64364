"""The functions that recount the findings of each kind, and which sentence each of them knows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from tests.truth.recount import Side

# A number in a sentence and its recount, or any other part and what it should be.
Check = tuple[str, str]
# Instead of a part of a sentence that nobody recounts, which is then the second item.
NOT_RECOUNTED = "not recounted"
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
    """`1,024`."""
    return f"{number:,}"


def both(match: re.Match[str], a: int, b: int) -> Iterator[Check]:
    """The numbers of A and B that a sentence has, and those counted."""
    yield match["a"], grouped(a)
    yield match["b"], grouped(b)


def plural(number: int, word: str) -> str:
    """`1 warp`, `4 warps`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


# Numbers that say where something is, and Python code.
_PLACES = re.compile(
    r"\blines? \d+(?:(?:, | and )\d+)*(?: of [AB])?|\([a-z_].*\w\(.*?\)+|: [\w, ]+ = .*?\)(?=:)"
)
_NUMBER = re.compile(r"(?<![\w.#:\[])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.])")


def left_over(text: str, found: list[Check]) -> list[str]:
    """The numbers of a sentence that no part of `found` has."""
    numbers = Counter(_NUMBER.findall(_PLACES.sub("", text)))
    for said, _ in found:
        numbers -= Counter(_NUMBER.findall(said))
    return list(numbers.elements())
