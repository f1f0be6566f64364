"""The pages of the docs, and the commands that they show with what these print.

A page says what its commands need, and what is special about a block, in comments that no reader sees:

    <!-- setup: matmul add -->   once, anywhere: captures that are there before the first command
    <!-- file: serve.py -->      right above a block: it is that file, there before the first command
    <!-- needs: torch -->        right above a block: not run where that is not there, see NEEDS
    <!-- exit: 0 2 -->           right above a block: the exit codes of its commands (default: 0 each)

In a block, `$ ` begins a command, a backslash at the end of its line continues it, and what follows is what
it prints: all of it, but that a line `...` stands for any number of lines, and `...` in a line for any text.
A command with nothing below it may print anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])

_BLOCK = re.compile(r"((?:^ *<!--[^\n]*-->\n)*)^( *)```console\n(.*?)^ *```$", re.M | re.S)
_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.M | re.S)
_COMMENT = re.compile(r"<!-- (\w+): (.*?) -->")


@dataclass(frozen=True)
class Command:
    """A command of a page: its line from 1, what it should print (None: anything), its exit code."""

    line: int
    text: str
    output: list[str] | None
    exit_code: int
    needs: str


def setups(page: Path) -> list[str]:
    """The names of the captures that a page takes for granted."""
    comments = dict(_COMMENT.findall(page.read_text(encoding="utf-8")))
    return comments.get("setup", "").split()


def files(page: Path) -> list[tuple[str, str]]:
    """Names and texts of the files that a page shows."""
    return _FILE.findall(page.read_text(encoding="utf-8"))


def commands(page: Path) -> Iterator[Command]:
    """Every command of a page, in order."""
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
    """Whether a command printed what its page shows; times and the size of a written file may differ."""
    parts: list[list[str]] = [[]]
    for line in map(_steady, shown):
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    lines = [_steady(line) for line in printed]
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
    return shown == printed or re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), printed) is not None


def _steady(line: str) -> str:
    """`line` without what differs from run to run: times, the size of a file, the widths of columns."""
    line = re.sub(r"\b\d+(?:\.\d+)? (s|ms|seconds)\b", r"N \1", line)
    line = re.sub(r"\b\d+\.\d\d\b(?! ?->)", "N", line)
    line = re.sub(r": [\d,]+ bytes$", ": N bytes", line)
    return " ".join(line.split())
