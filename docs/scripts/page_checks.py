"""Find what merges leave in pages: a sentence twice or of another page, a table that Markdown reads as text.

`make docs` fails on these, and tests/docs/test_pages.py checks the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise

# Shorter sentences may recur: "No GPU is needed."
_FEWEST_WORDS = 9
_FEWEST_WORDS_OF_PAGES = 16
_FEWEST_WORDS_OF_CELLS = 4
# Two sentences are one if they share this part of their runs of three words: merges keep both of two edits.
_ALIKE = 0.6
# Rules of lint and answers of lessons are also read one by one, by `irscope explain` and in the app.
_GENERATED = ("docs/lint.md", "docs/learn/")
_FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.M | re.S)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
# What docs/scripts/usage.py writes: options of one meaning are options of several commands.
_USAGE = re.compile(r"<!-- arguments: .*?<!-- end of arguments -->", re.S)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_DELIMITER_ROW = re.compile(r" *\|(?: *:?-+:? *\|)+ *")


def problems_of_pages(pages: Mapping[str, str]) -> Iterator[str]:
    """Yield a line per problem of the pages, whose texts `pages` maps from their paths in the repository."""
    for name, text in pages.items():
        problems = [*tables_without_blank_line(text)]
        if not name.startswith(_GENERATED):
            problems += repetitions_in_page(text)
        yield from (f"{name}: {problem}" for problem in problems)
    yield from repetitions_between_pages(pages)


def repetitions_in_page(text: str) -> Iterator[str]:
    """Yield a line per sentence and per row of a table that the page has twice."""
    yield from repeated_rows(text)
    sentences = [(sentence, _runs_of_words(sentence)) for sentence in sentences_of(text, _FEWEST_WORDS)]
    for (first, first_runs), (second, second_runs) in combinations(sentences, 2):
        shared = len(first_runs & second_runs)
        if shared >= _ALIKE * min(len(first_runs), len(second_runs)):
            yield f"says twice: {first!r} and {second!r}"


def repetitions_between_pages(pages: Mapping[str, str]) -> Iterator[str]:
    """Yield a line per long sentence that two pages share: one of them should link to the other."""
    page_of: dict[str, str] = {}
    for name, text in pages.items():
        for sentence in sentences_of(text, _FEWEST_WORDS_OF_PAGES):
            other = page_of.setdefault(sentence.lower(), name)
            if other != name:
                yield f"{name} repeats {other}: {sentence!r}"


def tables_without_blank_line(text: str) -> Iterator[str]:
    """Yield the first row of a table right below a line of text, and each row outside of a table."""
    lines = _FENCE.sub("", text).splitlines()
    in_table = False
    for before, row, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if not row.lstrip().startswith("|"):
            in_table = False
        elif not in_table:
            in_table = _DELIMITER_ROW.fullmatch(below) is not None
            if before.strip() or not in_table:
                yield f"this row is no part of a table, or lacks a blank line before it: {row.strip()!r}"
    for row, below in pairwise(lines):
        if row.lstrip().startswith("|") and below.strip() and not below.lstrip().startswith("|"):
            yield f"this line ends a table without a blank line: {below.strip()!r}"


def repeated_rows(text: str) -> Iterator[str]:
    """Yield the rows of a table whose first cell, a question or a sentence, another row of it has too."""
    for table in re.findall(r"(?:^\|.*\n)+", _prose(text), re.M):
        cells: set[str] = set()
        for row in table.splitlines():
            first = row.split("|")[1].strip()
            if len(first.split()) >= _FEWEST_WORDS_OF_CELLS and first in cells:
                yield f"the table has two rows {first!r}"
            cells.add(first)


def sentences_of(text: str, fewest_words: int) -> list[str]:
    """Return the sentences outside of code, comments, tables and headings, without the addresses of links."""
    prose = re.sub(r"^ *(?:\||#).*$", "", _prose(text), flags=re.M)
    blocks = re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )", prose)
    sentences = []
    for block in blocks:
        words = " ".join(_LINK.sub(r"\1", block).split())
        sentences += re.split(r"(?<=[.?!:]) (?=[A-Z`*\[])", words)
    return [sentence for sentence in sentences if len(sentence.split()) >= fewest_words]


def _prose(text: str) -> str:
    return _COMMENT.sub("", _FENCE.sub("", _USAGE.sub("", text)))


def _runs_of_words(sentence: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[\w.]+", sentence.lower())
    return set(zip(words, words[1:], words[2:], strict=False))
