"""PTX: one operation per instruction, located by the `.loc` directives before it.

The virtual registers that PTX instructions read and write, and how many 32-bit registers each takes.

PTX is in a form with any number of registers; ptxas allocates the physical ones, reorders instructions and
recomputes cheap values, so the pressure of PTX is an estimate of the machine code's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from sys import intern
from typing import TYPE_CHECKING, ClassVar

from irscope.languages.assembly import SourceLines, principal_mnemonic, strip_debug
from irscope.languages.branches import Branches, Jump, Labels
from irscope.languages.branches import branches as resolve
from irscope.languages.document import OPAQUE, Document, Location, Operation, each_line
from irscope.languages.language import Language
from irscope.languages.registers import RegisterAccess, RegisterFile, RegisterUse

if TYPE_CHECKING:
    from pygments.lexer import Lexer


# LLVM's register classes have one or two letters: %p, %rs, %r, %rd, %rq, %f, %fd. `%pm0` is a counter.
_REGISTER = re.compile(r"%(?!pm)[a-z][a-z]?\d+\b")
_REGISTER_NUMBER = re.compile(r"(%(?!pm)[a-z][a-z]?)\d+\b")
# The replacement of a register: its class. Before Python 3.12, faster than a template.
_CLASS: Callable[[re.Match[str]], str] = itemgetter(1)
_LABEL_NUMBER = re.compile(r"(\$L_[A-Za-z_]*)\d[\d_]*")
_INSTRUCTION = re.compile(r"(@!?[%\w]+ )?([a-z][\w.:]*)(?: ([^;]*))?;")
_FUNCTION = re.compile(r"(?:\.(?:visible|weak)\s+)?\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$.]+)")

# The first words of the opcodes that only read their operands. An instruction whose first operand is an
# address ([...]: stores, copies, mbarriers) needs no entry.
_WRITES_NOTHING = frozenset(["bar", "barrier", "bra", "brx", "call", "nanosleep"])


def parse(text: str) -> Document:
    """Parse a PTX text.

    Directives, labels, comments and braces are skipped. Any other line that is not an instruction
    is an OPAQUE operation. Never fails; takes time linear in the text.
    """
    reader = _PtxReader(text)
    for index, line in enumerate(each_line(text)):
        reader.read(index, line.strip())
    return Document("ptx", text, reader.operations, reader.functions)


class _PtxReader:
    """Reads PTX line by line and tracks the current function and location."""

    def __init__(self, text: str) -> None:
        self.operations: list[Operation] = []
        self.functions: list[str] = []
        self._source_lines = SourceLines(text)
        self._location: Location | None = None
        self._header = ""
        self._function = -1
        self._depth = 0
        # The number of the line within inline assembly, -1 outside of it.
        self._assembly_line = -1

    def read(self, index: int, line: str) -> None:
        """Read one line, given without the blanks around it."""
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
            self._location = self._source_lines.location(line)
        else:
            # LLVM counts the lines of inline assembly on from the source line (Triton 3.8+), so all but
            # the first point below the statement.
            self._location = self._source_lines.location(line, back=self._assembly_line) or self._location

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
        """Read a line that opens or close a block and may hold statements too."""
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
        normalized = _REGISTER_NUMBER.sub(_CLASS, code)
        if "$L_" in normalized:
            normalized = _LABEL_NUMBER.sub(r"\1", normalized)
        self.operations.append(
            Operation(
                index,
                index + 1,
                intern(opcode),
                intern(normalized),  # most repeat, here and in the text that this one is compared with
                results,
                operands,
                self._location,
                -1,
                self._function,
            )
        )


def _dataflow(mnemonic: str, operands: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the registers that an instruction writes, and the ones that it reads.

    The first operand is written: one register, two (`%r1|%p1`), or a vector (`{%r1, %r2}`).
    """
    registers = tuple(map(intern, _REGISTER.findall(operands)))
    if mnemonic in _WRITES_NOTHING or operands.startswith("["):
        return (), registers
    end = operands.find("}" if operands.startswith("{") else ",")
    result_count = len(registers) if end < 0 else operands.count("%", 0, end)
    return registers[:result_count], registers[result_count:]


# A label, or a brace that opens or closes a scope of labels.
_LABEL = re.compile(r"^[ \t]*(?:([\w$.]+):(?!:)|([{}]))", re.MULTILINE)
_TARGETS = re.compile(r"^[ \t]*([\w$.]+):\s{0,99}\.branchtargets\s([^;]{0,99999});", re.MULTILINE)
_ENDS = frozenset(["ret", "exit", "trap"])


def branches(document: Document) -> Branches:
    """Find the branches of a PTX text (PTX ISA, "Control Flow Instructions").

    Calls return to the next operation. Statements that share a line with a brace are one
    operation: a branch among them is not read.
    """
    text = document.text
    lists = {name: re.findall(r"[\w$.]+", names) for name, names in _TARGETS.findall(text)}
    labels = Labels(document, _LABEL)

    def jump(operation: Operation) -> Jump | None:
        mnemonic = operation.opcode.partition(".")[0]
        if mnemonic not in ("bra", "brx") and mnemonic not in _ENDS:
            return None
        match = _INSTRUCTION.fullmatch(" ".join(document.lines[operation.line].partition("//")[0].split()))
        if match is None:
            return None
        predicate, _, operands = match.groups()
        names = [operand.strip() for operand in (operands or "").split(",")]
        if mnemonic == "brx":
            targets = lists.get(names[-1], [])
            return Jump(tuple(targets), bool(predicate), known=bool(targets))
        return Jump(tuple(names) if mnemonic == "bra" else (), bool(predicate))

    return resolve(document.operations, jump, labels.place)


@cache
def lexer() -> type[Lexer]:
    """Pygments' PTX lexer, extended for predicates and whole opcodes."""
    from pygments.lexer import inherit
    from pygments.lexers.ptx import PtxLexer
    from pygments.token import Keyword, Name, Number, Punctuation

    class TritonPtxLexer(PtxLexer):
        """PTX with predicates (`@%p1`); `ld.global.v4.b32` and `0f3F800000` are one token each."""

        name = "PTX (Triton)"
        aliases: ClassVar[list[str]] = ["triton-ptx"]
        filenames: ClassVar[list[str]] = []

        tokens: ClassVar = {
            "root": [
                (r"@!?", Name.Decorator),
                (r"0[fd][0-9A-Fa-f]+\b", Number),
                (r"[a-z]\w*(?:\.\w+(?:::\w+)*)+(?=[\s;])", Keyword),
                inherit,
                (r"[|:]", Punctuation),
            ],
        }

    return TritonPtxLexer


_DECLARATION = re.compile(r"\.reg\s+\.(\w+)\s+(%\w+?)<\d+>")
_PREFIX = re.compile(r"(%[a-zA-Z_$]+)")
# A register of 8 or 16 bits takes a whole 32-bit register unless ptxas packs it; predicates take none.
_WEIGHTS = {"pred": 0.0, "b64": 2.0, "u64": 2.0, "s64": 2.0, "f64": 2.0, "b128": 4.0}


# The predicate of a wgmma says whether it adds to the accumulator or overwrites it.
_OVERWRITES = re.compile(r"%rd\d+, 0,")
_FALSE = re.compile(r"\bmov\.pred\s+(%p\d+), 0;")
_COPY = re.compile(r"\s*mov\.[bus]\d+\s+%\w+, %\w+;")


def register_use(document: Document) -> RegisterUse:
    """Return the registers that each operation of a PTX text reads and writes, and their weights."""
    numbers: dict[str, int] = {}
    never = set(_FALSE.findall(document.text))
    accesses = []
    copies = {}
    lines = document.lines
    for index, operation in enumerate(document.operations):
        reads = writes = 0
        for name in operation.operands:
            reads |= 1 << numbers.setdefault(name, len(numbers))
        for name in operation.results:
            writes |= 1 << numbers.setdefault(name, len(numbers))
        if operation.opcode.startswith("wgmma.mma_async"):
            overwrites = _OVERWRITES.search(lines[operation.line]) is not None
            if not overwrites and never.isdisjoint(operation.operands):
                reads |= writes  # it adds to the accumulator
        certain = lines[operation.line].lstrip()[:1] != "@"
        accesses.append(RegisterAccess(reads, writes, certain))
        if operation.opcode.startswith("mov.") and certain and _COPY.match(lines[operation.line]):
            copies[index] = reads
    return RegisterUse(accesses, RegisterFile(_weights(document, numbers), virtual=True), copies)


def _weights(document: Document, numbers: dict[str, int]) -> list[tuple[int, float]]:
    types = {prefix: kind for kind, prefix in _DECLARATION.findall(document.text)}
    masks: dict[float, bytearray] = {}
    for name, number in numbers.items():
        prefix = _PREFIX.match(name)
        weight = _WEIGHTS.get(types.get(prefix[1], "") if prefix else "", 1.0)
        if weight:
            bits = masks.setdefault(weight, bytearray(len(numbers) // 8 + 1))
            bits[number >> 3] |= 1 << (number & 7)
    return [(int.from_bytes(bits, "little"), weight) for weight, bits in masks.items()]


LANGUAGE = Language(
    name="ptx",
    parse=parse,
    lexer=lexer,
    strip_debug=strip_debug,
    branches=branches,
    registers=register_use,
    polls=re.compile(r"^mbarrier\.(?:try|test)_wait|^nanosleep"),
    symbol=re.compile(r"([A-Za-z_$][\w$]*)(?=_param_\d)|(?<=[ ,])([A-Za-z_$][\w$]*)(?=, \(|;)"),
    comment="//",
    header=re.compile(
        r"\.(?:version|target|address_size|visible|weak|extern|entry|func|param|shared|global|const|local"
        r"|reqntid|maxntid|minnctapersm|maxnctapersm|maxnreg|reqnctapercluster|explicitcluster"
        r"|maxclusterrank|pragma)\b"
    ),
    modifiers=frozenset(
        [
            "aligned",
            "row",
            "col",
            "rn",
            "rz",
            "rm",
            "rp",
            "rni",
            "rzi",
            "ftz",
            "sat",
            "approx",
            "full",
            "lo",
            "hi",
            "wide",
            "relaxed",
            "volatile",
            "weak",
            "noinc",
            "cta",
            "gpu",
            "sys",
            "b16x2",
        ]
    ),
    heavy=re.compile(r"w?g?mma|tcgen05|ld|st|atom|red|cp|bar"),
)
