"""The general registers that SASS instructions read and write, wide operands included.

    IMAD.WIDE R2, R0, 0x4, R6      -> writes R2, R3; reads R0, R6, R7
    HMMA.16816.F32 R4, R8, R12, R4 -> writes R4 to R7; reads R8 to R11, R12, R13, R4 to R7

NVIDIA documents the names of the opcodes, but not the widths of their operands. This table was derived from
the life ranges that `nvdisasm -plr` prints for cuda:80 and cuda:90, and agrees with them for every
instruction of the samples. Predicates and uniform registers do not count as registers of a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import zip_longest
from math import prod

from irscope.languages.document import OPAQUE, Document
from irscope.languages.registers import NO_ACCESS, RegisterAccess, RegisterFile, RegisterUse, StackAccess

_CODE = re.compile(r"(@!?U?P\w+ )?([A-Z][\w.]*)(?: ([^;]*))?;")
_REGISTER = re.compile(r"(?<![\w.])R(\d{1,3})(?!\w)((?:\.\w+)*)")
# Operands that may be written before the general register: predicates.
_PREDICATE = re.compile(r"!?U?P[\dT]$")
_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)$")
_MAX_REGISTERS = 256
# The stack pointer is kept for the caller's sake, even in a kernel.
_STACK_POINTER = 1 << 1
_AT_EXIT = RegisterAccess(_STACK_POINTER)
GENERAL_REGISTERS = RegisterFile((((1 << _MAX_REGISTERS) - 1, 1),))

# The registers of the result (0: none) and of each operand after it; further operands have one.
Widths = tuple[int, tuple[int, ...]]

# Instructions without a general register as their result, though one is the first operand.
_NO_RESULT = frozenset(
    [
        "ARRIVES",
        "BAR",
        "BPT",
        "BRA",
        "BRX",
        "CALL",
        "CCTL",
        "CCTLL",
        "CCTLT",
        "DEPBAR",
        "EXIT",
        "FCHK",
        "FSETP",
        "HSETP2",
        "ISETP",
        "JMP",
        "JMX",
        "LDGDEPBAR",
        "LDGSTS",
        "MEMBAR",
        "NANOSLEEP",
        "PLOP3",
        "PSETP",
        "R2B",
        "R2P",
        "RET",
        "SUST",
        "WARPGROUP",
        "WARPSYNC",
    ]
)
_WIDE_ARITHMETIC = frozenset(["IADD", "IADD3", "IMAD", "LEA", "LOP3", "MOV", "SEL", "VIADD"])


# Instructions that only copy one register.
_COPY = re.compile(r"(?:MOV R\d+, |IMAD\.MOV(?:\.U32)? R\d+, RZ, RZ, )R\d+(?:\.reuse)?\s*;")
# ptxas addresses the stack by R1; the slot of any other address is unknown.
_LOCAL = re.compile(r"\b(STL|LDL)((?:\.\w+){0,4}) (?:R\w+, )?\[(?:R1(?:\+(0x[0-9a-f]{1,6}))?\])?")


def register_use(document: Document) -> RegisterUse:
    """Return the general registers that each operation of a disassembly reads and writes."""
    lines = document.lines
    accesses = [
        NO_ACCESS if operation.opcode == OPAQUE else _access(lines[operation.line])
        for operation in document.operations
    ]
    copies = {}
    stack: list[StackAccess] = []
    for index, operation in enumerate(document.operations):
        access = accesses[index]
        if operation.opcode.startswith(("MOV", "IMAD.MOV")):
            if access.certain and _COPY.search(lines[operation.line]):
                copies[index] = access.reads
        elif operation.opcode.startswith(("STL", "LDL")):
            stack += _stack_access(index, lines[operation.line], access.reads & ~_STACK_POINTER)
    return RegisterUse(accesses, GENERAL_REGISTERS, copies, stack)


def _stack_access(index: int, line: str, reads: int) -> Iterator[StackAccess]:
    """`STL.64 [R1+0x10], R4` stores two words, at 16 and 20."""
    match = _LOCAL.search(line)
    if match is None:
        return
    stores = match[1] == "STL"
    first = int(match[3] or "0", 16)
    words = 2 if ".64" in match[2] else 4 if ".128" in match[2] else 1
    slots = tuple(range(first, first + 4 * words, 4)) if match[0].endswith("]") else ()
    yield StackAccess(index, stores, reads if stores and slots else 0, slots)


def _access(line: str) -> RegisterAccess:
    code = line.partition("*/")[2].partition("/*")[0].strip()
    match = _CODE.match(code)
    return instruction_access(match[2], match[3] or "", match[1] or "") if match else NO_ACCESS


def instruction_access(opcode: str, operands: str, predicate: str) -> RegisterAccess:
    """Return the registers that an instruction reads and writes."""
    if opcode == "EXIT":
        return _AT_EXIT
    if "R" not in operands:
        return NO_ACCESS
    result, widths = _widths(opcode)
    parts = operands.split(", ")
    index = 0  # the result, after predicates that are written too
    while index < len(parts) - 1 and _PREDICATE.match(parts[index]):
        index += 1
    writes = 0
    if result and parts[index].startswith("R"):
        match = _REGISTER.match(parts[index])
        writes = _mask(int(match[1]), result) if match else 0
        index += 1
        while index < len(parts) - 1 and _PREDICATE.match(parts[index]):
            index += 1
    reads = 0
    for part, width in zip_longest(parts[index:], _operand_widths(widths, parts[index:]), fillvalue=1):
        if isinstance(part, str) and "R" in part:
            reads |= _read(part, width)
    certain = not predicate or predicate in ("@PT ", "@UPT ")
    return RegisterAccess(reads, writes, certain)


def _operand_widths(widths: tuple[int, ...], parts: list[str]) -> tuple[int, ...]:
    """Return the widths of `parts`.

    HGMMA reads its first operand from registers or through a descriptor.
    """
    if not widths or not any(part.startswith("gdesc") for part in parts):
        return widths
    return (1, *widths[1:]) if parts[0].startswith("gdesc") else (widths[0], 1, *widths[1:])


def _read(part: str, width: int) -> int:
    """Return the registers of an operand.

    Those of an address have the width that they print, or `-width`.
    """
    mask = 0
    for number, suffix in _REGISTER.findall(part):
        register_width = abs(width) if width < 0 or "[" not in part else 1
        if ".64" in suffix or ".F32x2" in suffix:
            register_width = 2
        mask |= _mask(int(number), register_width)
    return mask


def _mask(first: int, number: int) -> int:
    return ((1 << number) - 1) << first if first + number <= _MAX_REGISTERS else 0


@lru_cache(maxsize=4096)
def _widths(opcode: str) -> Widths:
    name, *modifiers = opcode.split(".")
    if name in _NO_RESULT or name.startswith("UT"):
        return 0, ()
    if rule := _RULES.get(name):
        return rule(modifiers)
    if "WIDE" in modifiers or (name == "IMAD" and "HI" in modifiers):
        return (2 if "WIDE" in modifiers else 1), (1, 1, 2)
    if "64" in modifiers and name in _WIDE_ARITHMETIC:
        return 2, (2, 2, 2)
    return 1, ()


def _load(modifiers: list[str]) -> Widths:
    return _memory_width(modifiers), ()


def _store(modifiers: list[str]) -> Widths:
    return 0, (1, _memory_width(modifiers))


def _atomic(modifiers: list[str]) -> Widths:
    width = _memory_width(modifiers)
    # The address of a compare-and-swap is not printed as wide.
    return width, (-2 if "CAS" in modifiers and "E" in modifiers else 1, width, width)


def _matrix_load(modifiers: list[str]) -> Widths:
    return _matrix_width(modifiers), ()


def _matrix_store(modifiers: list[str]) -> Widths:
    return 0, (1, _matrix_width(modifiers))


def _memory_width(modifiers: list[str]) -> int:
    """`.64` is two registers, `.128` four; `.F32x4` is a vector."""
    for word in modifiers:
        if word in ("64", "128", "256"):
            return int(word) // 32
        if word in ("F64", "U64", "S64") or word.endswith(("32x2", "16x4")):
            return 2
        if word.endswith(("32x4", "16x8")):
            return 4
    return 1


def _matrix_width(modifiers: list[str]) -> int:
    """LDSM.16.M88.4: four matrices of 8x8, a register each. LDTM.x32: 32 registers."""
    for word in reversed(modifiers):
        if word[:1] == "x" and word[1:].isdecimal():
            return _tensor_memory_width(modifiers, int(word[1:]))
        if word in ("2", "4"):
            return int(word)
    return 1


def _tensor_memory_width(modifiers: list[str], repeats: int) -> int:
    """Count the registers of tcgen05.ld and .st (PTX ISA, 9.7.16.8).

    The number is the bits per lane and repetition / 32. 16dp64bit, 16dp128bit and 16dp256bit have
    16 lanes, so that a thread has twice or more the registers.
    """
    shape = next((word for word in modifiers if "dp" in word), "32dp32bit")
    bits = re.match(r"(\d+)dp(\d+)bit", shape)
    per_repeat = {"64": 1, "128": 2, "256": 4}.get(bits[2], 1) if bits else 1
    return min(per_repeat * repeats, 128)


def _conversion(name: str, modifiers: list[str]) -> Widths:
    """F2F.F64.F32 and I2F.F64 have a wide result, F2F.F32.F64 and F2I.F64 a wide operand."""
    wide = [word for word in modifiers if word in ("F64", "S64", "U64")]
    types = [word for word in modifiers if re.fullmatch(r"[FSU](8|16|32|64)|BF16", word)]
    if not wide:
        return 1, ()
    if name == "I2F":
        result, source = ("F64" in modifiers), bool({"S64", "U64"} & set(modifiers))
    elif name == "F2I":
        result, source = bool({"S64", "U64"} & set(modifiers)), ("F64" in modifiers)
    else:
        result, source = bool(types) and types[0] == "F64", bool(types) and types[-1] == "F64"
    return 1 + result, (1 + source,)


# Elements of one operand per register of a warp, by the type's name: 32 lanes of 32 bits.
_BITS = {"F16": 16, "BF16": 16, "TF32": 32, "S8": 8, "U8": 8, "S4": 4, "U4": 4, "E4M3": 8, "E5M2": 8}


def _warp_matrix(name: str, modifiers: list[str]) -> Widths:
    """HMMA.16816.F32: m16n8k16. The result has m * n elements, the operands m * k and k * n, per 32 lanes."""
    shape = _mma_shape(modifiers[0] if modifiers else "")
    if shape is None:
        return 0, ()
    m, n, k = shape
    inputs = [word for word in modifiers[1:] if word in _BITS]
    if name == "HMMA":
        bits = 32 if "TF32" in modifiers else 16
        result_bits = 32 if "F32" in modifiers else 16
    else:
        bits = _BITS[inputs[-1]] if inputs else 8
        result_bits = 16 if name == "QMMA" and "F16" in modifiers else 32
    result = max(1, m * n * result_bits // 1024)
    a, b = (max(1, prod(size) * bits // 1024) for size in ((m, k), (k, n)))
    return result, (a, b, result)


def _mma_shape(digits: str) -> tuple[int, int, int] | None:
    """16816 -> m16n8k16, 1688 -> m16n8k8, 16832 -> m16n8k32, 8816 -> m8n8k16."""
    match = re.fullmatch(r"(16|8)8(\d{1,3})", digits)
    return (int(match[1]), 8, int(match[2])) if match else None


def _warpgroup_matrix(modifiers: list[str]) -> Widths:
    """HGMMA.64x128x16.F32: 64 * 128 elements over 128 threads; an operand in registers has 64 * K."""
    match = _SHAPE.match(modifiers[0]) if modifiers else None
    if match is None:
        return 0, ()
    result = 64 * int(match[2]) // 128
    if "F32" not in modifiers and "F16" in modifiers:
        result //= 2
    return result, (4, result)


_RULES: dict[str, Callable[[list[str]], Widths]] = {
    "CS2R": lambda modifiers: (1 if "32" in modifiers else 2, ()),
    **dict.fromkeys(["LD", "LDG", "LDS", "LDL", "LDC"], _load),
    **dict.fromkeys(["ST", "STG", "STS", "STL", "STAS", "RED", "REDG", "REDS"], _store),
    **dict.fromkeys(["ATOM", "ATOMG", "ATOMS"], _atomic),
    **dict.fromkeys(["LDSM", "LDT", "LDTM"], _matrix_load),
    **dict.fromkeys(["STSM", "STT", "STTM"], _matrix_store),
    # Double precision, and packed pairs of single precision, whose scalar operands have no `.F32x2`.
    **dict.fromkeys(["DADD", "DFMA", "DMNMX", "DMUL"], lambda _: (2, (2, 2, 2))),
    **dict.fromkeys(["FADD2", "FFMA2", "FMUL2"], lambda _: (2, ())),
    "DSETP": lambda _: (0, (2, 2)),
    "DMMA": lambda _: (4, (2, 2, 4)),
    **{name: partial(_conversion, name) for name in ("F2F", "F2I", "I2F", "FRND")},
    **{name: partial(_warp_matrix, name) for name in ("HMMA", "IMMA", "QMMA", "BMMA", "OMMA")},
    **dict.fromkeys(["HGMMA", "IGMMA", "QGMMA", "BGMMA"], _warpgroup_matrix),
}
