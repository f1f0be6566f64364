"""SASS as `nvdisasm -c` (lines or not) and `cuobjdump -sass` print it: one operation an instruction."""

from __future__ import annotations

import re

from irscope.languages.assembly import chain
from irscope.languages.document import OPAQUE, Document, Location, Operation

_PLACE = re.compile(r'//## File "([^"]*)", line (\d{1,9})\b')
_ADDRESS = re.compile(r"/\*[0-9a-f]+\*/")
_INSTRUCTION = re.compile(r"(@!?\w+ )?([A-Z][\w.]*)(?: ([^;]*))?;")
# `.text.NAME:` in nvdisasm's text, `Function : NAME` in cuobjdump's.
_FUNCTION = re.compile(r"\.text\.([^\s:]+):|Function : (\S+)")

# General, uniform and predicate registers, convergence barriers, scoreboards; not RZ, PT, SR_TID.X.
_REGISTER = re.compile(r"\b(?:U?[RP]|S?B|gsb)\d+\b")
_REGISTER_NUMBER = re.compile(r"\b(U?[RP]|S?B|gsb)\d+\b")
_LABEL_NUMBER = re.compile(r"\.L_x_\d+")
_PREDICATE = re.compile(r"!?U?P[\dT]")
# Without labels (cuobjdump) a jump names the address that it goes to.
_JUMP = re.compile(r"(?:@!?\w+ )?(?:BRA|BSSY|CALL|JMP|WARPSYNC)\b")
_JUMP_ADDRESS = re.compile(r"\b0x[0-9a-f]+")

# Instructions whose first operand is read, by the first word of the opcode; what begins with an address
# ([...], desc[...]: stores and copies) needs no entry.
_WRITES_NOTHING = frozenset(
    ["BAR", "BRA", "BRX", "BSYNC", "CALL", "DEPBAR", "JMP", "NANOSLEEP", "RET", "WARPGROUP", "WARPSYNC"]
)
# Instructions of one result whose second operand is a predicate that they read.
_ONE_RESULT = frozenset(["VOTE", "VOTEU"])


def parse(text: str) -> Document:
    """The document of a disassembly, whatever it is; linear in its length.

    Registers are named as in the text: `R8` of a 128-bit load stands for four. A line that has an
    address but no instruction is an OPAQUE operation. The places of an inlining chain come one a line,
    innermost first, before the instructions that they hold for.
    """
    operations: list[Operation] = []
    functions: list[str] = []
    location: Location | None = None
    places: list[tuple[str, int, int]] = []
    for index, line in enumerate(text.split("\n")):
        code = line.lstrip()
        if address := _ADDRESS.match(code):
            if places:
                location, places = chain(places), []
            operations.append(_operation(index, code[address.end() :], location, len(functions) - 1))
        elif place := _PLACE.match(code):
            places.append((place[1], int(place[2]), 0))
        elif function := _FUNCTION.match(code):
            functions.append(function[1] or function[2])
            location, places = None, []
    return Document("sass", text, operations, functions)


def _operation(index: int, text: str, location: Location | None, function: int) -> Operation:
    code = " ".join(text.partition("/*")[0].split())
    match = _INSTRUCTION.fullmatch(code)
    if match is None:
        return Operation(index, index + 1, OPAQUE, _neutral(code), (), (), location, -1, function)
    predicate, opcode, operands = match.groups()
    results, read = _dataflow(opcode.partition(".")[0], operands or "")
    if predicate:
        read = (*_REGISTER.findall(predicate), *read)
    return Operation(index, index + 1, opcode, _neutral(code), results, read, location, -1, function)


def _dataflow(mnemonic: str, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The registers that an instruction writes, and those that it reads.

    The first operand is written, and so is the second where one of the two is a predicate:
    `ISETP.NE.AND P0, P1, ...`, `SHFL.IDX PT, R4, ...`, `IADD3 R2, P0, ...`.
    """
    operands = text.split(", ")
    written = 0
    if mnemonic not in _WRITES_NOTHING and "[" not in operands[0]:
        written = 1
        if len(operands) > 2 and mnemonic not in _ONE_RESULT and "[" not in operands[1]:
            written += any(_PREDICATE.fullmatch(operand) for operand in operands[:2])
    registers = [_REGISTER.findall(operand) for operand in operands]
    results = tuple(name for names in registers[:written] for name in names)
    return results, tuple(name for names in registers[written:] for name in names)


def _neutral(code: str) -> str:
    normal = _REGISTER_NUMBER.sub(r"\1", code)
    if ".L_x_" in normal:
        return _LABEL_NUMBER.sub(".L_x", normal)
    return _JUMP_ADDRESS.sub("0x", normal) if _JUMP.match(normal) else normal
