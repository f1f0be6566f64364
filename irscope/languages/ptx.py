"""PTX: one operation a line of instruction, with the source lines of its `.loc` directives."""

from __future__ import annotations

import re
from sys import intern

from irscope.languages.assembly import SourceLines, principal_mnemonic
from irscope.languages.document import OPAQUE, Document, Location, Operation

# LLVM's register classes have one or two letters: %p, %rs, %r, %rd, %rq, %f, %fd. `%pm0` is a counter.
_REGISTER = re.compile(r"%(?!pm)[a-z][a-z]?\d+\b")
_REGISTER_NUMBER = re.compile(r"%(?!pm)([a-z][a-z]?)\d+\b")
_LABEL_NUMBER = re.compile(r"(\$L_[A-Za-z_]*)\d[\d_]*")
_INSTRUCTION = re.compile(r"(@!?[%\w]+ )?([a-z][\w.:]*)(?: ([^;]*))?;")
_FUNCTION = re.compile(r"(?:\.(?:visible|weak)\s+)?\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$.]+)")

# Instructions whose first operand is read, by the first word of the opcode; what begins with an address
# ([...]: stores, copies, mbarriers) needs no entry.
_WRITES_NOTHING = frozenset(["bar", "barrier", "bra", "brx", "call", "nanosleep"])


def parse(text: str) -> Document:
    """The document of a PTX text, whatever it is; linear in its length.

    Directives, labels, comments and braces are no operations. A line that is neither these nor an
    instruction is an OPAQUE one.
    """
    reader = _Reader(text)
    for index, line in enumerate(text.split("\n")):
        reader.read(index, line.strip())
    return Document("ptx", text, reader.operations, reader.functions)


class _Reader:
    """Reads PTX line by line: which function it is in, and the location in force."""

    def __init__(self, text: str) -> None:
        self.operations: list[Operation] = []
        self.functions: list[str] = []
        self._sources = SourceLines(text)
        self._location: Location | None = None
        self._header = ""
        self._function = -1
        self._depth = 0
        # The number of the line inside an inline assembly text, -1 outside of one.
        self._assembly_line = -1

    def read(self, index: int, line: str) -> None:
        """Take in one line, stripped."""
        if line.startswith(".loc"):
            self._locate(line)
            return
        if self._assembly_line >= 0:
            self._assembly_line += 1
        kind = line[:1]
        if kind == ".":
            self._directive(line)
        elif kind == "/":
            self._comment(line)
        elif kind in ("{", "}"):
            self._brace(index, line)
        elif kind not in "();$":
            self._instruction(index, line)

    def _locate(self, line: str) -> None:
        if self._assembly_line < 0:
            self._location = self._sources.place(line)
        else:
            # LLVM numbers the lines of an inline assembly text on from the source line (Triton 3.8+),
            # so all but the first point below the statement.
            self._location = self._sources.place(line, back=self._assembly_line) or self._location

    def _directive(self, line: str) -> None:
        if match := _FUNCTION.match(line):
            self._header = match[1]
            self._function, self._depth, self._location = -1, 0, None

    def _comment(self, line: str) -> None:
        if line.startswith("// begin inline asm"):
            self._assembly_line = 0
        elif line.startswith("// end inline asm"):
            self._assembly_line = -1

    def _brace(self, index: int, line: str) -> None:
        """A block's bound; statements may stand on its line."""
        if self._depth == 0 and self._header and line[0] == "{":
            self._function = len(self.functions)
            self.functions.append(self._header)
            self._header = ""
        code = line.partition("//")[0]
        self._depth = max(0, self._depth + code.count("{") - code.count("}"))
        if self._depth == 0:
            self._function = -1
        if code.strip("{}; "):
            read = tuple(_REGISTER.findall(code))
            self._add(index, principal_mnemonic(code) or OPAQUE, " ".join(code.split()), (), read)

    def _instruction(self, index: int, line: str) -> None:
        code = " ".join((line.partition("//")[0] if "//" in line else line).split())
        if code.endswith(":"):
            return
        match = _INSTRUCTION.fullmatch(code)
        if match is None:
            self._add(index, (";" in code and principal_mnemonic(code)) or OPAQUE, code)
            return
        predicate, opcode, operands = match.groups()
        results, read = _dataflow(opcode.partition(".")[0], operands or "")
        if predicate:
            read = (*_REGISTER.findall(predicate), *read)
        self._add(index, opcode, code, results, read)

    def _add(
        self,
        index: int,
        opcode: str,
        code: str,
        results: tuple[str, ...] = (),
        operands: tuple[str, ...] = (),
    ) -> None:
        normal = _REGISTER_NUMBER.sub(r"%\1", code)
        if "$L_" in normal:
            normal = _LABEL_NUMBER.sub(r"\1", normal)
        self.operations.append(
            Operation(
                index,
                index + 1,
                intern(opcode),
                intern(normal),  # most are said many times, and in the text compared with too
                results,
                operands,
                self._location,
                -1,
                self._function,
            )
        )


def _dataflow(mnemonic: str, operands: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The registers that an instruction writes, and those that it reads.

    The first operand is written: one register, `%r1|%p1`, or a vector `{%r1, %r2}`.
    """
    registers = tuple(_REGISTER.findall(operands))
    if mnemonic in _WRITES_NOTHING or operands.startswith("["):
        return (), registers
    end = operands.find("}" if operands.startswith("{") else ",")
    written = len(registers) if end < 0 else operands.count("%", 0, end)
    return registers[:written], registers[written:]
