"""AMDGCN: one operation a line of instruction, with the source lines of its `.loc` directives."""

from __future__ import annotations

import re

from irscope.languages.assembly import SourceLines
from irscope.languages.document import OPAQUE, Document, Location, Operation

_INSTRUCTION = re.compile(r"([a-z]\w*)(?: (.*))?")
_LABEL = re.compile(r"([\w.$]+):")
_FUNCTION_TYPE = re.compile(r"\.type\s+([\w.$]+),@function")

# Vector, scalar, accumulation and trap registers, one (`v4`) or several (`s[2:3]`), and the named ones.
_REGISTER = re.compile(r"(?<![\w.$])(?:(?:[vsa]|ttmp)(?:\d+|\[\d+(?::\d+)?\])|vcc|exec|m0)(?!\w)")
_SINGLE = re.compile(r"(?<![\w.$])([vsa]|ttmp)\d+(?!\w)")
_RANGE = re.compile(r"(?<![\w.$])([vsa]|ttmp)\[(\d{1,5}):(\d{1,5})\]")
_LABEL_NUMBER = re.compile(r"(\.L[A-Za-z_]+)\d[\d_]*")

# Stores, compares into scc, branches and waits have no result.
_WRITES_NOTHING = re.compile(
    r"(?:global|buffer|flat|scratch|tbuffer|image|ds)_(?:store|write)"
    r"|s_(?:c?branch|cmpk?_|bitcmp|wait|barrier|set|send|trap)"
)
# Arithmetic whose second operand takes a carry or a condition.
_TWO_RESULTS = re.compile(r"v_(?:\w+_co_|div_scale|mad_[iu]64)")


def parse(text: str) -> Document:
    """The document of an AMDGCN text, whatever it is; linear in its length.

    Directives, labels, comments and the metadata at the end are no operations. A line that is neither
    these nor an instruction is an OPAQUE one.
    """
    reader = _Reader(text)
    for index, line in enumerate(text.split("\n")):
        reader.read(index, line.strip())
    return Document("amdgcn", text, reader.operations, reader.functions)


class _Reader:
    """Reads AMDGCN line by line: which function it is in, and the location in force."""

    def __init__(self, text: str) -> None:
        self.operations: list[Operation] = []
        self.functions: list[str] = []
        self._sources = SourceLines(text)
        self._function_names: set[str] = set()
        self._location: Location | None = None
        self._function = -1
        self._in_metadata = False

    def read(self, index: int, line: str) -> None:
        """Take in one line, stripped."""
        kind = line[:1]
        if self._in_metadata:
            self._in_metadata = not line.startswith(".end_amdgpu_metadata")
        elif kind == ".":
            self._directive(line)
        elif kind not in ";":
            code = " ".join(line.partition(";")[0].split())
            if match := _LABEL.fullmatch(code):
                self._label(match[1])
            else:
                self.operations.append(_operation(index, code, self._location, self._function))

    def _directive(self, line: str) -> None:
        if line.startswith(".loc"):
            self._location = self._sources.place(line)
        elif line.startswith(".Lfunc_end"):
            self._function = -1
        elif line.startswith(".amdgpu_metadata"):
            self._in_metadata = True
        elif match := _FUNCTION_TYPE.match(line):
            self._function_names.add(match[1])

    def _label(self, name: str) -> None:
        if name in self._function_names:
            self._function, self._location = len(self.functions), None
            self.functions.append(name)


def _operation(index: int, code: str, location: Location | None, function: int) -> Operation:
    normal = _neutral(code)
    match = _INSTRUCTION.fullmatch(code)
    if match is None:
        return Operation(index, index + 1, OPAQUE, normal, (), (), location, -1, function)
    results, operands = _dataflow(match[1], match[2] or "")
    return Operation(index, index + 1, match[1], normal, results, operands, location, -1, function)


def _dataflow(opcode: str, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The registers that an instruction writes, and those that it reads."""
    registers = [_REGISTER.findall(operand) for operand in text.split(", ")]
    written = 0 if _WRITES_NOTHING.match(opcode) else 2 if _TWO_RESULTS.match(opcode) else 1
    results = tuple(name for names in registers[:written] for name in names)
    return results, tuple(name for names in registers[written:] for name in names)


def _neutral(code: str) -> str:
    """Registers by class and width (`v[0:3]` is `v[4]`), labels without number."""
    normal = _SINGLE.sub(r"\1", code)
    if "[" in normal:
        normal = _RANGE.sub(lambda m: f"{m[1]}[{int(m[3]) - int(m[2]) + 1}]", normal)
    return _LABEL_NUMBER.sub(r"\1", normal) if ".L" in normal else normal
