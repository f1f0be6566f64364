"""What assembly languages have in common: `.file` and `.loc` lines, inlining chains, inline assembly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from irscope.languages.document import Location

# Longest inlined-at chain that is kept, counted from the kernel inwards: real ones have under ten
# links, and a hostile text must not make every instruction carry a chain as long as the text.
MAX_INLINING = 64

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"([^"\n]*)"(?:[ \t]+"([^"\n]*)")?', re.MULTILINE)
_LOC = re.compile(r"\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\b")
_INLINED_AT = re.compile(r"\binlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\b")
_COMMENT_LINK = re.compile(r"@\[ ([^\[\]]*?):(\d{1,9}):(\d{1,9})\b")
_STATEMENT = re.compile(r"(?:@!?\S+\s+)?([a-z][\w.:]*)")

# Instructions of an inline assembly text that only prepare, test or loop around the one that matters.
_AUXILIARY = frozenset(["mov", "setp", "bra"])


class SourceLines:
    """The `.file` table of a PTX or AMDGCN text, and the places that its `.loc` lines name.

    LLVM writes inlining in two ways. Triton 3.6 and 3.7, and AMDGCN always, have it only in the comment,
    `standard.py:43:17 @[ mmk.py:9:27 ]`, with base names. PTX of 3.8 and later has
    `inlined_at 1 9 17`, which names the call's place; the chain goes on at the latest `.loc` of that
    place (PTX ISA, "Debugging Directives: .loc": it precedes in the text).
    """

    def __init__(self, text: str) -> None:
        self._files = {
            int(number): f"{first}/{second}" if second else first
            for number, first, second in _FILE.findall(text)
        }
        self._path_of_name = {PurePosixPath(path).name: path for path in self._files.values()}
        self._latest: dict[tuple[str, int, int], tuple[Location, int]] = {}

    def place(self, loc: str, back: int = 0) -> Location | None:
        """The place, `back` lines up, that a line `.loc FILE LINE COLUMN ...` names.

        None for another text. Code of no line (0) is where it was inlined, or nowhere.
        """
        match = _LOC.match(loc)
        if match is None:
            return None
        file, line, column = self._position(match)
        line -= back
        caller, depth = self._caller(loc, match.end())
        if line <= 0:
            return caller
        location = Location(file, line, column, caller)
        self._latest[file, line, column] = location, depth
        return location

    def _caller(self, loc: str, start: int) -> tuple[Location | None, int]:
        """Where the code of a `.loc` line was inlined, and how many links that chain has."""
        if match := _INLINED_AT.search(loc, start):
            position = self._position(match)
            location, depth = self._latest.get(position, (Location(*position), 0))
            return (location, depth + 1) if depth < MAX_INLINING else (None, 0)
        links = _COMMENT_LINK.findall(loc, start)
        callers = [(self._path_of_name.get(name, name), int(line), int(col)) for name, line, col in links]
        return chain(callers), min(len(callers), MAX_INLINING)

    def _position(self, match: re.Match[str]) -> tuple[str, int, int]:
        number, line, column = map(int, match.groups())
        return self._files.get(number, f"file {number}"), line, column


def chain(places: Sequence[tuple[str, int, int]]) -> Location | None:
    """The location whose (file, line, column), and those of its callers, stand innermost first."""
    location = None
    for file, line, column in reversed(places[-MAX_INLINING:]):
        location = Location(file, line, column, location)
    return location


def principal_mnemonic(assembly: str) -> str:
    """The mnemonic that says what an inline assembly text is for; "" where there is no instruction.

    It is the first one that does not merely prepare, test or loop: `ld.global.v4.b32` of four `mov.u32`
    and a predicated load.
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
