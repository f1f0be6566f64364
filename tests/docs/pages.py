"""Finds the commands that the docs pages show, and compares their output with the page.

HTML comments in a page say what its commands need:

    <!-- setup: matmul add -->   once, anywhere: captures to make before the first command
    <!-- file: serve.py -->      directly above a block: write the block to this file before the first command
    <!-- needs: torch -->        directly above a block: skip it if this is not available, see shell.NEEDS
    <!-- exit: 0 2 -->           directly above a block: the exit codes of its commands (default: 0 each)

In a block, `$ ` begins a command, and a backslash at the end of a line continues it. The lines after it are
all it prints: a line `...` matches any number of lines, `...` within a line any text. If no output follows a
command, it may print anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "llms.txt", *(ROOT / "docs").rglob("*.md")]
)

_BLOCK = re.compile(r"((?:^ *<!--[^\n]*-->\n)*)^( *)```console\n(.*?)^ *```$", re.M | re.S)
_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.M | re.S)
# The size of a written file depends on paths and versions, but not by this factor.
_SIZE = re.compile(r"(?<=: )([\d,]+) bytes$")
_MOST_GROWTH = 1.5
_COMMENT = re.compile(r"<!-- (\w+): (.*?) -->")


@dataclass(frozen=True)
class Command:
    """A command of a page: its line (from 1), expected output (None: any), exit code and needs."""

    line: int
    text: str
    output: list[str] | None
    exit_code: int
    needs: str


def setups(page: Path) -> list[str]:
    """The names of the set-ups that a page needs."""
    comments = dict(_COMMENT.findall(page.read_text(encoding="utf-8")))
    return comments.get("setup", "").split()


def files(page: Path) -> list[tuple[str, str]]:
    """Names and texts of the files to write before the first command."""
    return _FILE.findall(page.read_text(encoding="utf-8"))


def commands(page: Path) -> Iterator[Command]:
    """Yields every command of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        marks = dict(_COMMENT.findall(block[1]))
        codes = [int(code) for code in marks.get("exit", "").split()]
        lines = [line.removeprefix(block[2]) for line in block[3].splitlines()]
        first = text.count("\n", 0, block.start(3)) + 1
        starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
        ends = [*starts, len(lines)][1:]
        for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
            output = start + 1
            while lines[output - 1].endswith("\\"):
                output += 1
            yield Command(
                line=first + start,
                text="\n".join(lines[start:output]).removeprefix("$ "),
                output=lines[output:end] or None,
                exit_code=codes[place] if place < len(codes) else 0,
                needs=marks.get("needs", ""),
            )


def fits(shown: list[str], printed: list[str]) -> bool:
    """Whether the output matches the page, apart from times, and about the size of files."""
    parts: list[list[str]] = [[]]
    for line in map(_normalized, shown):
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    lines = [_normalized(line) for line in printed]
    first, *rest = parts
    if not _begins(lines, first):
        return False
    lines = lines[len(first) :]
    for part in rest[:-1]:
        place = next((i for i in range(len(lines) + 1) if _begins(lines[i:], part)), None)
        if place is None:
            return False
        lines = lines[place + len(part) :]
    if not rest:
        return not lines
    return len(rest[-1]) <= len(lines) and _begins(lines[len(lines) - len(rest[-1]) :], rest[-1])


def _begins(lines: list[str], shown: list[str]) -> bool:
    pairs = zip(shown, lines, strict=False)
    return len(shown) <= len(lines) and all(_line_fits(one, line) for one, line in pairs)


def _line_fits(shown: str, printed: str) -> bool:
    shown_size, printed_size = _SIZE.search(shown), _SIZE.search(printed)
    if shown_size and printed_size:
        ratio = int(printed_size[1].replace(",", "")) / int(shown_size[1].replace(",", ""))
        if not 1 / _MOST_GROWTH < ratio < _MOST_GROWTH:
            return False
        shown, printed = _SIZE.sub("", shown), _SIZE.sub("", printed)
    return shown == printed or re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), printed) is not None


def _normalized(line: str) -> str:
    """`line` without parts that vary from run to run: times, column widths."""
    line = re.sub(r"\b\d+(?:\.\d+)? (s|ms|seconds)\b", r"N \1", line)
    line = re.sub(r"\b\d+\.\d\d\b(?! ?->)", "N", line)
    return " ".join(line.split())
