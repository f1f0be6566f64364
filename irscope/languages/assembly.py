"""The shared parts of the assembly languages: `.file` and `.loc` lines, inlining chains, inline assembly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from irscope.languages.document import Location

# The longest inlined-at chain that is kept, counted from the kernel inwards. Real chains have fewer than
# ten links; a hostile text must not give every instruction a chain as long as the text.
MAX_INLINING = 64

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"([^"\n]*)"(?:[ \t]+"([^"\n]*)")?', re.MULTILINE)
_LOC = re.compile(r"\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\b")
_INLINED_AT = re.compile(r"\binlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\b")
_COMMENT_LINK = re.compile(r"@\[ ([^\[\]]*?):(\d{1,9}):(\d{1,9})\b")
_STATEMENT = re.compile(r"(?:@!?\S+\s+)?([a-z][\w.:]*)")
# Line entries and the labels that only debug sections refer to; the start of a section.
_DEBUG_LINE = re.compile(r"\s*\.(?:loc|file|cfi_\w+)\b|(?:\$L__|\.L)(?:tmp|func_begin)\d+:")
_SECTION = re.compile(r"\s*\.(?:section|text)\b\s*(\.debug_)?")

# Instructions of inline assembly that only prepare, test or loop around the one that matters.
_AUXILIARY = frozenset(["mov", "setp", "bra"])


class SourceLines:
    """The `.file` table of a PTX or AMDGCN text, and the locations that its `.loc` lines name.

    LLVM prints inlining in two ways. Triton 3.6 and 3.7 (and AMDGCN always) have it only in the comment,
    `standard.py:43:17 @[ mmk.py:9:27 ]`, with base names. PTX of Triton 3.8 and later has
    `inlined_at 1 9 17`, the position of the call; the chain continues at the latest `.loc` of that
    position, which precedes it in the text (PTX ISA, "Debugging Directives: .loc").
    """

    def __init__(self, text: str) -> None:
        self._files = {
            int(number): f"{first}/{second}" if second else first
            for number, first, second in _FILE.findall(text)
        }
        self._path_of_name = {PurePosixPath(path).name: path for path in self._files.values()}
        self._latest: dict[tuple[str, int, int], tuple[Location, int]] = {}

    def location(self, line: str, back: int = 0) -> Location | None:
        """Return the location that a `.loc FILE LINE COLUMN ...` line names, moved up by `back` lines.

        Code of line 0 belongs to the call through which it was inlined. Returns None if that call is
        unknown, and for any other text.
        """
        match = _LOC.match(line)
        if match is None:
            return None
        file, number, column = self._position(match)
        number -= back
        caller, depth = self._caller(line, match.end())
        if number <= 0:
            return caller
        latest = self._latest.get((file, number, column))
        if latest is not None and latest[1] == depth and latest[0].inlined_at == caller:
            return latest[0]  # one object per location: a text of 1,000,000 lines names few
        location = Location(file, number, column, caller)
        self._latest[file, number, column] = location, depth
        return location

    def _caller(self, line: str, start: int) -> tuple[Location | None, int]:
        """Return the location that the code of a `.loc` line was inlined at, and that chain's length."""
        if match := _INLINED_AT.search(line, start):
            position = self._position(match)
            location, depth = self._latest.get(position, (Location(*position), 0))
            return (location, depth + 1) if depth < MAX_INLINING else (None, 0)
        links = _COMMENT_LINK.findall(line, start)
        callers = [(self._path_of_name.get(name, name), int(line), int(col)) for name, line, col in links]
        return inlined_location(callers), min(len(callers), MAX_INLINING)

    def _position(self, match: re.Match[str]) -> tuple[str, int, int]:
        number, line, column = map(int, match.groups())
        return self._files.get(number, f"file {number}"), line, column


def inlined_location(positions: Sequence[tuple[str, int, int]]) -> Location | None:
    """Return the location of a chain of (file, line, column), innermost first; None if it is empty."""
    location = None
    for file, line, column in reversed(positions[-MAX_INLINING:]):
        location = Location(file, line, column, location)
    return location


def principal_mnemonic(assembly: str) -> str:
    """Return the mnemonic of the instruction that inline assembly exists for; "" without any.

    It is the first one that does more than prepare, test or loop: `ld.global.v4.b32` for four
    `mov.u32` and a predicated load.
    """
    first = ""
    for statement in assembly.replace(";", "\n").split("\n"):
        code = statement.strip(" \t\r{}")
        match = _STATEMENT.match(code)
        if match is None or code.endswith(":"):
            continue
        if match[1].partition(".")[0] not in _AUXILIARY:
            return match[1]
        first = first or match[1]
    return first


def strip_debug(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of PTX or AMDGCN without line entries, debug labels and debug sections."""
    in_debug_section = False
    for line in lines:
        if section := _SECTION.match(line):
            in_debug_section = section[1] is not None
        if not in_debug_section and not _DEBUG_LINE.match(line):
            yield line
