"""Python: one operation per line of code; the stages that a front end generates Triton from.

    buf0 = empty_strided_cuda((8, 8), (8, 1))    -> opcode "empty_strided_cuda"

The scopes are functions and classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from sys import intern
from typing import TYPE_CHECKING

from irscope.languages.document import OPAQUE, Document, Operation
from irscope.languages.language import Language

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# An unclosed string ends with the text (three quotes) or the line, so that each is scanned once.
_TOKEN = re.compile(
    r'"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*(?:"""|\\?\Z)'
    r"|'''[^'\\]*(?:(?:\\[\s\S]|'(?!''))[^'\\]*)*(?:'''|\\?\Z)"
    r'|"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"?'
    r"|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'?"
    r"|#[^\n]*|\\\n|[\n()\[\]{}]"
)
_SCOPE = re.compile(r"(?:async[ \t]+)?(def|class)[ \t]+(\w+)")
_WORD = re.compile(r"[^\W\d]\w*")
_CALLED = re.compile(r"(?<![\w.])([^\W\d][\w.]*)[ \t]*\(")
# An assignment: not a keyword argument, and no comparison.
_ASSIGNED = re.compile(r"[^=(]*(?<![!<>])=(?!=)")
# A function in a class in a function: names of deeper ones would grow with every level.
_MOST_PARTS = 3


def parse(text: str) -> Document:
    """Parse a Python text.

    Blank lines and comments are skipped. Functions and classes are scopes: `Runner.call`. Never
    fails, also on text that is not Python; takes time linear in the text.
    """
    reader = _PythonReader()
    for index, line in enumerate(_code_lines(text)):
        if line.code.strip():
            reader.read(index, line)
    return Document("python", text, reader.operations, reader.functions)


@dataclass(slots=True)
class _CodeLine:
    """A line without its comment; `inside` is what it continues: "(" brackets, '"' a string, "" neither."""

    code: str
    inside: str


def _code_lines(text: str) -> Iterator[_CodeLine]:
    """Yield the lines of `text`, as many as it has line feeds plus one."""
    depth, inside, code = 0, "", ""
    start = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token[0] == "#":
            code += text[start : match.start()]
            start = match.end()
        elif token in ("\n", "\\\n"):
            yield _CodeLine(code + text[start : match.start()], inside)
            goes_on = depth or token.startswith("\\")
            inside, code, start = "(" if goes_on else "", "", match.end()
        elif token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            depth = max(depth - 1, 0)
        elif "\n" in token:
            first, *more_lines = (text[start : match.start()] + token).split("\n")
            yield _CodeLine(code + first, inside)
            yield from (_CodeLine(middle_line, '"') for middle_line in more_lines[:-1])
            inside, code, start = '"', more_lines[-1], match.end()
    yield _CodeLine(code + text[start:], inside)


class _PythonReader:
    """Reads the lines of code and tracks the scope by indentation."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.functions: list[str] = []
        # The indentation and the index of each scope around the line.
        self._scopes: list[tuple[int, int]] = []

    def read(self, index: int, line: _CodeLine) -> None:
        """Read one line that is not blank."""
        code = line.code.strip()
        if not line.inside:
            self._enter(len(line.code) - len(line.code.lstrip()), code)
        # Indentation has a meaning, except between brackets.
        normalized = code if line.inside == "(" else line.code.rstrip()
        opcode = OPAQUE if line.inside == '"' else _opcode(code)
        function = self._scopes[-1][1] if self._scopes else -1
        self.operations.append(
            Operation(index, index + 1, intern(opcode), intern(normalized), function=function)
        )

    def _enter(self, indentation: int, code: str) -> None:
        while self._scopes and self._scopes[-1][0] >= indentation:
            self._scopes.pop()
        if scope := _SCOPE.match(code):
            around = self.functions[self._scopes[-1][1]].split(".") if self._scopes else []
            self._scopes.append((indentation, len(self.functions)))
            self.functions.append(".".join([*around, scope[2]][-_MOST_PARTS:]))


def _opcode(code: str) -> str:
    """Return the keyword that a line begins with, else the first function that it calls.

    If there is neither, return "=" or OPAQUE.
    """
    if code[0] == "@":
        return "@"
    word = _WORD.match(code)
    if word and iskeyword(word[0]):
        return word[0]
    assigned = _ASSIGNED.match(code)
    called = _CALLED.search(code, assigned.end() if assigned else 0)
    return called[1] if called else "=" if assigned else OPAQUE


def strip_debug(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines: Python has no debug information."""
    yield from lines


@cache
def lexer() -> type[Lexer]:
    """Pygments' Python lexer."""
    from pygments.lexers.python import PythonLexer

    return PythonLexer


LANGUAGE = Language(
    name="python", parse=parse, lexer=lexer, strip_debug=strip_debug, names_are_values=False, comment="#"
)
