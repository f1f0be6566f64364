"""LLVM IR: one operation per instruction, located by its `!dbg` id.

LLVM's debug metadata: `!DILocation` and its scopes, resolved to locations in the user's Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from sys import intern
from typing import TYPE_CHECKING, ClassVar

from irscope.languages.assembly import MAX_INLINING, principal_mnemonic
from irscope.languages.branches import Branches, Jump, Labels
from irscope.languages.branches import branches as resolve
from irscope.languages.document import OPAQUE, Document, Lines, Location, Operation, each_line
from irscope.languages.language import Language

if TYPE_CHECKING:
    from pygments.lexer import Lexer


_NODE = re.compile(r"!(\d+) = (?:distinct )?!DI(?:Location|File|Subprogram|LexicalBlock\w*)\((.*)\)")
_REFERENCE = re.compile(r"\b(scope|file|inlinedAt): !(\d+)")
_NUMBER = re.compile(r"\b(line|column): (\d{1,9})\b")
_STRING = re.compile(r'\b(filename|directory): "([^"]*)"')


class DebugLocations:
    """The locations that the metadata of an LLVM IR text defines, each resolved on first use."""

    def __init__(self, lines: Iterable[str]) -> None:
        nodes = (_NODE.match(line) for line in lines if line.startswith("!"))
        self._fields = {node[1]: node[2] for node in nodes if node}
        # A location, and the length of its inlined-at chain.
        self._locations: dict[str, tuple[Location | None, int]] = {}
        self._files: dict[str, str] = {}

    def location(self, number: str) -> Location | None:
        """Return the location that `!NUMBER` names, with its inlined-at chain, or None if it names none.

        Code of line 0 belongs to the call through which it was inlined. A cycle ends after one round.
        """
        pending = []
        current: str | None = number
        while current is not None and current not in self._locations:
            self._locations[current] = None, 0
            pending.append(current)
            current = self._references(current).get("inlinedAt")
        caller, depth = (None, 0) if current is None else self._locations[current]
        for inner in reversed(pending):
            if depth == MAX_INLINING:
                caller, depth = None, 0
            caller, depth = self._resolve(inner, caller), depth + 1
            self._locations[inner] = caller, depth
        return self._locations[number][0]

    def _references(self, number: str) -> dict[str, str]:
        return dict(_REFERENCE.findall(self._fields.get(number, "")))

    def _resolve(self, number: str, caller: Location | None) -> Location | None:
        numbers = {name: int(value) for name, value in _NUMBER.findall(self._fields.get(number, ""))}
        if not numbers.get("line"):
            return caller
        scope = self._references(number).get("scope")
        return Location(self._file(scope), numbers["line"], numbers.get("column", 0), caller)

    def _file(self, scope: str | None) -> str:
        """Return the file of a scope, or of the nearest enclosing scope that has one; "" if none has."""
        path, walked = "", []
        while scope is not None and scope not in self._files:
            self._files[scope] = ""
            walked.append(scope)
            references = self._references(scope)
            if "file" in references:
                path = self._path(references["file"])
                break
            scope = references.get("scope")
        else:
            path = self._files.get(scope, "") if scope else ""
        self._files.update(dict.fromkeys(walked, path))
        return path

    def _path(self, number: str) -> str:
        strings = dict(_STRING.findall(self._fields.get(number, "")))
        name, directory = strings.get("filename", ""), strings.get("directory", "")
        return f"{directory}/{name}" if directory and not name.startswith("/") else name


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
_DEBUG_USE = re.compile(r",? !(?:dbg|srcloc) !\d+")
_DEBUG_LINE = re.compile(
    r"!\d+ = (?:distinct )?!(?:DI\w+\()|!llvm\.(?:dbg\.cu|module\.flags|ident) = |\s+#dbg_"
)

_TERMINATORS = frozenset(["br", "switch", "indirectbr", "invoke", "callbr", "ret", "resume", "unreachable"])
_TARGET = re.compile(r'\blabel %("[^"]*"|[-\w.$]+)')
# Labels, and the braces of functions.
_LABELS = re.compile(r'^(?:("[^"\n]*"|[-\w.$]+):|((?:define\b[^\n]*)?[{}])\s*$)', re.MULTILINE)

_CALLS = frozenset(["call", "invoke", "callbr"])


def parse(text: str) -> Document:
    """Parse an LLVM IR text.

    Globals, declarations, labels, attributes and metadata are skipped. Any other indented line
    that is not an instruction is an OPAQUE operation. The opcode of a call includes its callee,
    `call @llvm.fma.f32`, or the principal instruction of its inline assembly,
    `call asm ld.global.v4.b32`. Never fails; takes time linear in the text.
    """
    reader = _LlvmReader(DebugLocations(each_line(text)), text)
    next_ = 0
    for index, line in enumerate(each_line(text)):
        if index == next_:
            next_ = reader.read(line, index)
    return Document("llvm", text, reader.operations, reader.functions)


class _LlvmReader:
    """Reads LLVM IR line by line."""

    def __init__(self, debug: DebugLocations, text: str) -> None:
        self._text = text
        self.operations: list[Operation] = []
        self.functions: list[str] = []
        self._debug = debug
        self._function = -1
        self._mnemonics: dict[str, str] = {}

    @cached_property
    def _lines(self) -> Lines:
        """Return all lines; only a `switch` needs others than the current one."""
        return Lines(self._text)

    def read(self, line: str, index: int) -> int:
        """Read the line at `index` and its continuation lines; returns the index of the next line."""
        end = index + 1
        if line[:1] in (" ", "\t"):
            code = line.strip()
            if code.endswith("["):
                end = _end_of_switch(self._lines, index)
                code = " ".join(part.strip() for part in self._lines[index:end])
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
        location = self._debug.location(debug[1]) if debug else None
        if debug:
            code = code[: debug.start()] + code[debug.end() :]
        normalized = intern(_normalize(code))  # most repeat, here and in the text compared with
        match = _INSTRUCTION.match(code)
        if match is None:
            return Operation(index, end, OPAQUE, normalized, (), (), location, -1, self._function)
        result, opcode = match.groups()
        rest = code[match.end() :]
        opcode = intern(self._call(opcode, rest) if opcode in _CALLS else opcode)
        results = (intern(result),) if result else ()
        return Operation(index, end, opcode, normalized, results, _values(rest), location, -1, self._function)

    def _call(self, opcode: str, rest: str) -> str:
        """Return the opcode of a call, with its callee if that has a name."""
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
    """Return the names of values, in order.

    Strings contain none (`%tid.x` of inline assembly is a register). Names are interned: a
    structure of 1,140 fields names all of them wherever it is passed.
    """
    if '"' in code:
        names = [match[0] for match in _VALUE_OR_STRING.finditer(code) if match[1] is None]
    else:
        names = _VALUE.findall(code)
    return tuple(map(intern, names))


def _normalize(code: str) -> str:
    """`code` without the names of values and the numbers of metadata and attribute groups."""
    if '"' in code:
        normalized = _VALUE_OR_STRING.sub(lambda match: match[1] or "%", code)
    else:
        normalized = _VALUE.sub("%", code)
    return _ID.sub("", normalized) if "!" in normalized or "#" in normalized else normalized


def _end_of_switch(lines: Sequence[str], start: int) -> int:
    """Return one past the line of the `]` that closes the cases.

    If they are never closed, return one past `start`.
    """
    end = start + 1
    while end < len(lines) and _CASE.match(lines[end]):
        end += 1
    closed = end < len(lines) and lines[end].lstrip().startswith("]")
    return end + 1 if closed else start + 1


def strip_debug(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines of an LLVM IR text without debug metadata and the references to it."""
    return (strip_location(line) for line in lines if not _DEBUG_LINE.match(line))


def strip_location(line: str) -> str:
    """Return a line without its references to debug metadata."""
    return _DEBUG_USE.sub("", line)


@cache
def lexer() -> type[Lexer]:
    """Pygments' LLVM lexer, extended for what today's LLVM prints."""
    from pygments.lexer import inherit
    from pygments.lexers.asm import LlvmLexer
    from pygments.token import Name, Number, Punctuation

    class LlvmIrLexer(LlvmLexer):
        """LLVM IR whose unknown words (new attributes, fields of debug metadata) are names, not errors."""

        name = "LLVM IR"
        aliases: ClassVar[list[str]] = ["llvm-ir"]
        filenames: ClassVar[list[str]] = ["*.llir"]

        tokens: ClassVar = {
            "root": [
                (r"f0x[0-9A-Fa-f]+\b", Number),
                inherit,
                (r"[A-Za-z_][\w.]*", Name.Attribute),
                (r"[|:+-]", Punctuation),
            ],
        }

    return LlvmIrLexer


def branches(document: Document) -> Branches:
    """Find the branches of an LLVM IR text (LLVM Language Reference, "Terminator Instructions").

    Calls that can continue elsewhere are unknown, and so are jumps to an address.
    """

    def jump(operation: Operation) -> Jump | None:
        opcode = operation.opcode.partition(" ")[0]
        if opcode not in _TERMINATORS:
            return None
        code = " ".join(document.lines[operation.line : operation.end])
        labels = tuple(dict.fromkeys(_TARGET.findall(code)))
        return Jump(labels, known=opcode not in ("indirectbr", "invoke", "callbr"))

    return resolve(document.operations, jump, Labels(document, _LABELS).place)


LANGUAGE = Language(
    name="llvm",
    parse=parse,
    branches=branches,
    lexer=lexer,
    strip_debug=strip_debug,
    strip_location=strip_location,
    symbol=re.compile(r'@"?([-\w.$]+)'),
    comment=";",
    header=re.compile(r'target |@|attributes #\d+ = \{.*"'),
    heavy=re.compile(r"load|store|atomicrmw|call @llvm\.(?:nvvm|amdgcn)|call asm"),
)
