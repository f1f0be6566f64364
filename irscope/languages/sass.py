"""SASS as printed by `nvdisasm -c` and `cuobjdump -sass`: one operation per instruction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import itemgetter
from sys import intern
from typing import TYPE_CHECKING, ClassVar

from irscope.languages.assembly import inlined_location
from irscope.languages.branches import Branches, Jump, Labels
from irscope.languages.branches import branches as resolve
from irscope.languages.document import OPAQUE, Document, Location, Operation, each_line
from irscope.languages.language import Language
from irscope.languages.registers import RegisterUse

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_LOCATION = re.compile(r'//## File "([^"]*)", line (\d{1,9})\b')
_ADDRESS = re.compile(r"/\*[0-9a-f]+\*/")
_INSTRUCTION = re.compile(r"(@!?\w+ )?([A-Z][\w.]*)(?: ([^;]*))?;")
# `.text.NAME:` in nvdisasm's text, `Function : NAME` in cuobjdump's.
_FUNCTION = re.compile(r"\.text\.([^\s:]+):|Function : (\S+)")

_DIRECTIVE = re.compile(r"\s*(?:\.[a-z]+(?:\s|$)|\.text\.|//-{9}|$)")

# General, uniform and predicate registers, convergence barriers, scoreboards; not RZ, PT, SR_TID.X.
_REGISTER = re.compile(r"\b(?:U?[RP]|S?B|gsb)\d+\b")
_REGISTER_NUMBER = re.compile(r"\b(U?[RP]|S?B|gsb)\d+\b")
# The replacement of a register: its class. Before Python 3.12, faster than a template.
_CLASS: Callable[[re.Match[str]], str] = itemgetter(1)
_LABEL_NUMBER = re.compile(r"\.L_x_\d+")
_PREDICATE = re.compile(r"!?U?P[\dT]")
# A function in the kernel's section, named after both: `($kernel$module_$_helper__fp32)`; or one of ptxas's
# own, `($kernel$__internal_0_$__cuda_sm20_div_u64)`, whose name says what it computes.
_LOCAL_FUNCTION = re.compile(r"`\(\$[^()]*?(__internal_[^()]*)?\)")
# Without labels (cuobjdump), a jump names the address of its target.
_JUMP = re.compile(r"(?:@!?\w+ )?(?:BRA|BSSY|CALL|JMP|WARPSYNC)\b")
_JUMP_ADDRESS = re.compile(r"\b0x[0-9a-f]+")

# The first words of the opcodes that only read their operands. An instruction whose first operand is an
# address ([...], desc[...]: stores and copies) needs no entry.
_WRITES_NOTHING = frozenset(
    ["BAR", "BRA", "BRX", "BSYNC", "CALL", "DEPBAR", "JMP", "NANOSLEEP", "RET", "WARPGROUP", "WARPSYNC"]
)
# Instructions with one result that read the predicate in their second operand.
_ONE_RESULT = frozenset(["VOTE", "VOTEU"])


def parse(text: str) -> Document:
    """Parse a disassembly.

    Registers are named as in the text: the `R8` of a 128-bit load means four registers. A line
    with an address but no instruction is an OPAQUE operation. The links of an inlining chain are
    printed one per line, innermost first, before the instructions that they apply to. Never fails;
    takes time linear in the text.
    """
    operations: list[Operation] = []
    functions: list[str] = []
    location: Location | None = None
    chain: list[tuple[str, int, int]] = []
    for index, line in enumerate(each_line(text)):
        code = line.lstrip()
        if address := _ADDRESS.match(code):
            if chain:
                location, chain = inlined_location(chain), []
            operations.append(_operation(index, code[address.end() :], location, len(functions) - 1))
        elif link := _LOCATION.match(code):
            chain.append((link[1], int(link[2]), 0))
        elif function := _FUNCTION.match(code):
            functions.append(function[1] or function[2])
            location, chain = None, []
    return Document("sass", text, operations, functions)


def _operation(index: int, text: str, location: Location | None, function: int) -> Operation:
    code = " ".join(text.partition("/*")[0].split())
    match = _INSTRUCTION.fullmatch(code)
    if match is None:
        return Operation(index, index + 1, OPAQUE, intern(_normalize(code)), (), (), location, -1, function)
    predicate, opcode, operands = match.groups()
    results, read = _dataflow(opcode.partition(".")[0], operands or "")
    if predicate:
        read = (*_REGISTER.findall(predicate), *read)
    opcode, normalized = intern(opcode), intern(_normalize(code))  # most repeat
    return Operation(index, index + 1, opcode, normalized, results, read, location, -1, function)


def _dataflow(mnemonic: str, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the registers that an instruction writes, and the ones that it reads.

    The first operand is written, and the second too if one of the two is a predicate:
    `ISETP.NE.AND P0, P1, ...`, `SHFL.IDX PT, R4, ...`, `IADD3 R2, P0, ...`.
    """
    operands = text.split(", ")
    result_count = 0
    if mnemonic not in _WRITES_NOTHING and "[" not in operands[0]:
        result_count = 1
        if len(operands) > 2 and mnemonic not in _ONE_RESULT and "[" not in operands[1]:
            result_count += any(_PREDICATE.fullmatch(operand) for operand in operands[:2])
    registers = [_REGISTER.findall(operand) for operand in operands]
    results = tuple([intern(name) for names in registers[:result_count] for name in names])
    return results, tuple([intern(name) for names in registers[result_count:] for name in names])


def _normalize(code: str) -> str:
    normalized = _REGISTER_NUMBER.sub(_CLASS, code)
    if "`($" in normalized:
        normalized = _LOCAL_FUNCTION.sub(lambda match: f"`(${match[1] or 'function'})", normalized)
    if ".L_x_" in normalized:
        return _LABEL_NUMBER.sub(".L_x", normalized)
    return _JUMP_ADDRESS.sub("0x", normalized) if _JUMP.match(normalized) else normalized


_LABEL = re.compile(r"^([\w$.]+):", re.MULTILINE)
_BRANCH = re.compile(r"(?:BRA|BRX|BRXU|JMP|JMX|JMXU)\b")
_END = re.compile(r"(?:EXIT|RET|KILL)\b")
_TARGET = re.compile(r"`\(([\w$.]+)\)|\b(0x[0-9a-f]+)$")
_TARGETS = re.compile(r'"BRANCH_TARGETS ([^"]*)"')
_ALWAYS = re.compile(r"@U?PT ")


def branches(document: Document) -> Branches:
    """Find the branches of a disassembly; calls return to the next operation.

    The target is a label (nvdisasm) or the address of an instruction of the same function
    (cuobjdump). `BRA.U UP0, ...` and `BRA.DIV R4, ...` have their condition in an operand.
    """
    labels = Labels(document, _LABEL)
    addresses = _addresses(document)
    functions = {operation.line: operation.function for operation in document.operations}

    def place(line: int, name: str) -> int | None:
        if name.startswith("0x"):
            return addresses.get((functions[line], int(name, 16)))
        return labels.place(line, name)

    def jump(operation: Operation) -> Jump | None:
        return _jump(document.lines[operation.line], operation.opcode)

    return resolve(document.operations, jump, place)


def _jump(line: str, opcode: str) -> Jump | None:
    branch = _BRANCH.match(opcode)
    if branch is None and not _END.match(opcode):
        return None
    code = _code(line)
    match = _INSTRUCTION.fullmatch(code)
    predicate, _, operands = match.groups() if match else ("@P0 ", "", "")
    conditional = bool(predicate) and not _ALWAYS.match(predicate)
    if branch is None:
        return Jump((), conditional)
    if targets := _TARGETS.search(line):
        return Jump(tuple(targets[1].split(",")), conditional)
    target = _TARGET.search((operands or "").rstrip())
    if target is None:
        return Jump((), conditional, known=False)
    return Jump((target[1] or target[2],), conditional or "," in operands)


def _addresses(document: Document) -> dict[tuple[int, int], int]:
    """Map each (function, address) to its operation."""
    by_address = {}
    for index, operation in enumerate(document.operations):
        address = _ADDRESS.match(document.lines[operation.line].lstrip())
        if address:
            by_address[operation.function, int(address[0][2:-2], 16)] = index
    return by_address


def _code(line: str) -> str:
    """Return the instruction of a line without its address and encoding."""
    text = line.lstrip()
    address = _ADDRESS.match(text)
    return " ".join(
        (text[address.end() :] if address else text).partition("/*")[0].partition("(*")[0].split()
    )


def strip_debug(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines of a disassembly without its `//## File` lines."""
    return (line for line in lines if not line.lstrip().startswith("//## File "))


def registers(document: Document) -> RegisterUse:
    """Return the registers of the operations; only `irscope registers` and spills need it."""
    from irscope.languages.sass_registers import register_use

    return register_use(document)


@cache
def lexer() -> type[Lexer]:
    """Return the Pygments lexer for SASS; Pygments' own `sass` is a CSS language."""
    from pygments.lexer import RegexLexer, default, include
    from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Text, Whitespace

    class NvidiaSassLexer(RegexLexer):
        """SASS as nvdisasm and cuobjdump print it: address, predicate, opcode with modifiers, operands."""

        name = "NVIDIA SASS"
        url = "https://docs.nvidia.com/cuda/cuda-binary-utilities/"
        aliases: ClassVar[list[str]] = ["nvsass", "nvidia-sass"]
        filenames: ClassVar[list[str]] = ["*.nvsass"]

        tokens: ClassVar = {
            "root": [
                (r"//[^\n]*", Comment.Single),
                (r"/\*[0-9a-f]+\*/", Comment.Special, "instruction"),
                (r"[\w.$]+:", Name.Label),
                (r"\.\w[\w.]*", Keyword.Pseudo),
                include("values"),
                (r"[\w$@\\]+", Name),
            ],
            "instruction": [
                (r"[ \t]+", Whitespace),
                (r"@!?\w+", Name.Decorator),
                (r"[A-Z]\w*(?:\.\w+)*", Keyword, ("#pop", "operands")),
                default("#pop"),
            ],
            "operands": [
                (r"\n", Whitespace, "#pop"),
                (r";", Punctuation, "#pop"),
                (r"\b(?:U?[RP]|S?B|gsb)\d+\b", Name.Variable),
                (r"\b(?:U?RZ|U?PT|SRZ|SR_[\w.]+)", Name.Builtin),
                (r"\.L_x_\d+", Name.Label),
                (r"\.\w+", Keyword.Type),
                include("values"),
                (r"[\w$]+", Name),
            ],
            "values": [
                (r"\s+", Whitespace),
                (r"/\*[^*\n]*\*/", Comment),
                (r'"[^"\n]*"', String),
                (r"0x[0-9a-f]+\b|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b", Number),
                (r"[-+~|!,;:()\[\]{}<>=*/&?`@]", Punctuation),
                (r"\.", Text),
            ],
        }

    return NvidiaSassLexer


LANGUAGE = Language(
    name="sass",
    parse=parse,
    lexer=lexer,
    strip_debug=strip_debug,
    directive=_DIRECTIVE,
    branches=branches,
    registers=registers,
    polls=re.compile(r"TRYWAIT|TRY_ALLOC|FIND_AND_SET|^NANOSLEEP"),
    names_are_values=False,
    symbol=re.compile(r"(?<=[`($])([A-Za-z_][\w.]*)(?=[$)])"),
    register=r"\b(?:U?[RP]|S?B|gsb)\d+(?!\w)",
    register_classes=frozenset(["R", "UR", "P", "UP", "B", "SB", "gsb"]),
    header=re.compile(r"\.(?:headerflags|sectionflags|sectioninfo)\b"),
    modifiers=frozenset(["E", "SYS", "CONSTANT", "reuse", "AND", "OR", "PT", "EX", "X", "U32", "S32"]),
    heavy=re.compile(r"[HIBDQO]+GMMA|[HIDBQ]MMA|UTC\w*MMA|LD|ST|ATOM|RED"),
)
