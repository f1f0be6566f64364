"""LLVM IR: one operation a line of instruction, with its `!dbg` location."""

from __future__ import annotations

import re
from collections.abc import Sequence
from sys import intern

from irscope.languages.assembly import principal_mnemonic
from irscope.languages.document import OPAQUE, Document, Operation
from irscope.languages.llvm_debug import DebugLocations

_VALUE = re.compile(r'%(?:[-\w.$]+|"[^"]*")')
_VALUE_OR_STRING = re.compile(r'("[^"]*")|%(?:[-\w.$]+|"[^"]*")')
_INSTRUCTION = re.compile(r'(?:(%(?:[-\w.$]+|"[^"]*")) = )?(?:(?:tail|musttail|notail) )?([a-z]\w*)\b')
_CALLED = re.compile(r' asm (?:[a-z]+ ){0,4}"([^"]*)"|(@(?:[-\w.$]+|"[^"]*"))\(')
_FUNCTION = re.compile(r'define [^@]*@([-\w.$]+|"[^"]*")')
_CASE = re.compile(r"\s+i\d+ -?\w+, label ")
_DEBUG = re.compile(r", !dbg !(\d+)")
_LINE_END = re.compile(r"\\0A(?:\\09)?")
# Numbers of metadata and of attribute groups.
_ID = re.compile(r"(?<=[!#])\d+")

_CALLS = frozenset(["call", "invoke", "callbr"])


def parse(text: str) -> Document:
    """The document of an LLVM IR text, whatever it is; linear in its length.

    Globals, declarations, labels, attributes and metadata are no operations. An indented line that is
    no instruction is an OPAQUE one. A call's opcode names what it calls, `call @llvm.fma.f32`, or the
    instruction that its inline assembly is for, `call asm ld.global.v4.b32`.
    """
    lines = text.split("\n")
    reader = _Reader(DebugLocations(lines))
    index = 0
    while index < len(lines):
        index = reader.read(lines, index)
    return Document("llvm", text, reader.operations, reader.functions)


class _Reader:
    """Reads LLVM IR line by line."""

    def __init__(self, debug: DebugLocations) -> None:
        self.operations: list[Operation] = []
        self.functions: list[str] = []
        self._debug = debug
        self._function = -1
        self._mnemonics: dict[str, str] = {}

    def read(self, lines: Sequence[str], index: int) -> int:
        """Take in the line at `index` and what belongs to it; the index of the next line."""
        line, end = lines[index], index + 1
        if line[:1] in (" ", "\t"):
            code = line.strip()
            if code.endswith("["):
                end = _end_of_switch(lines, index)
                code = " ".join(part.strip() for part in lines[index:end])
            if code and not code.startswith((";", "#dbg_")):
                self.operations.append(self._operation(index, end, code))
        elif line.startswith("define "):
            self._define(line)
        elif line.startswith("}"):
            self._function = -1
        return end

    def _define(self, line: str) -> None:
        match = _FUNCTION.match(line)
        self._function = len(self.functions)
        self.functions.append(match[1].strip('"') if match else "")

    def _operation(self, index: int, end: int, code: str) -> Operation:
        debug = _DEBUG.search(code)
        location = self._debug.place(debug[1]) if debug else None
        if debug:
            code = code[: debug.start()] + code[debug.end() :]
        normal = intern(_neutral(code))  # most are said many times, and in the text compared with too
        match = _INSTRUCTION.match(code)
        if match is None:
            return Operation(index, end, OPAQUE, normal, (), (), location, -1, self._function)
        result, opcode = match.groups()
        rest = code[match.end() :]
        opcode = intern(self._call(opcode, rest) if opcode in _CALLS else opcode)
        results = (intern(result),) if result else ()
        return Operation(index, end, opcode, normal, results, _values(rest), location, -1, self._function)

    def _call(self, opcode: str, rest: str) -> str:
        """The opcode of a call, with what is called where that has a name."""
        match = _CALLED.search(rest)
        if match is None:
            return opcode
        assembly, name = match.groups()
        if name:
            return f"{opcode} {name}"
        if assembly not in self._mnemonics:
            self._mnemonics[assembly] = principal_mnemonic(_LINE_END.sub("\n", assembly))
        return f"{opcode} asm {self._mnemonics[assembly]}".rstrip()


def _values(code: str) -> tuple[str, ...]:
    """The names of values, in order; what stands in strings (assembly has `%tid.x`) is none.

    Each name is held once: a structure of 1,140 fields names all of them wherever it is passed.
    """
    if '"' in code:
        names = [match[0] for match in _VALUE_OR_STRING.finditer(code) if match[1] is None]
    else:
        names = _VALUE.findall(code)
    return tuple(map(intern, names))


def _neutral(code: str) -> str:
    """`code` without the names of values and the numbers of metadata and attribute groups."""
    if '"' in code:
        normal = _VALUE_OR_STRING.sub(lambda match: match[1] or "%", code)
    else:
        normal = _VALUE.sub("%", code)
    return _ID.sub("", normal) if "!" in normal or "#" in normal else normal


def _end_of_switch(lines: Sequence[str], start: int) -> int:
    """One past the line of the `]` that closes the cases, or past `start` where they do not close."""
    end = start + 1
    while end < len(lines) and _CASE.match(lines[end]):
        end += 1
    closed = end < len(lines) and lines[end].lstrip().startswith("]")
    return end + 1 if closed else start + 1
