"""The values of a lowered kernel: the types of LLVM IR, and the registers and constants that its names mean.

Vectors and structures are one register per element, so that moving elements costs nothing. Each access of
memory is split into those of at most 16 bytes that an instruction makes. See LLVM's Language Reference.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

# The values of a name: one register or constant for each element of a vector or field of a structure.
Values = list[str]

TYPE = re.compile(r"(<\d+ x .+?>|\{.*?\}|\[\d+ x .+?\]|ptr(?: addrspace\(\d\))?|[a-z][\w.]*)(?:\s+|$)")
SPACES = {"": "global", "0": "global", "1": "global", "3": "shared", "4": "global", "5": "local"}
_REGISTERS = {"pred": "%p", "b16": "%rs", "b32": "%r", "b64": "%rd", "": "%f"}
_NAMED_CONSTANTS = {"zeroinitializer": "0", "null": "0", "false": "0", "true": "1"}
_WIDEST = 16  # bytes that one instruction moves per lane
ATTRIBUTES = re.compile(
    r"(?:(?:nonnull|noundef|inreg|immarg|nofree|readonly|writeonly|readnone|zeroext|signext|returned)\s+"
    r"|(?:align|dereferenceable|range|captures|memory|nofpclass)(?:\([^)]*\)|\s+\d+)\s+)*"
)
FLAGS = re.compile(
    r"(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc"
    r"|volatile|atomic)\s+"
)
_OPERATIONS = {
    "add": "add", "max": "max", "min": "min", "and": "and", "or": "or", "xor": "xor", "xchg": "exch",
    "cmpxchg": "cas", "cmpswap": "cas", "umax": "max", "umin": "min", "smax": "max", "smin": "min",
    "sub": "add", "inc": "inc", "dec": "dec", "swap": "exch",
}  # fmt: skip


class LlvmType(NamedTuple):
    """A type: the register type of each element ("" if its values are not followed) and its size in bytes."""

    kinds: tuple[str, ...]
    size: int
    space: str = ""

    @property
    def bytes(self) -> int:
        """Return the bytes of all elements."""
        return self.size * len(self.kinds)


def statements(lines: Sequence[str], start: int, end: int) -> list[tuple[int, str]]:
    """Return the statements and labels of a function without debug information, with their lines."""
    statements: list[tuple[int, str]] = []
    open_switch = False
    for index in range(start, end):
        code = lines[index].partition(", !")[0].partition(" ; ")[0].strip()
        if not code or code.startswith((";", "#")):
            continue
        if open_switch:
            statements[-1] = statements[-1][0], f"{statements[-1][1]} {code}"
            open_switch = not code.startswith("]")
            continue
        open_switch = code.startswith("switch ") and not code.endswith("]")
        statements.append((index, code))
    return statements


def split_operands(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        if letter in "<{[(":
            depth += 1
        elif letter in ">}])":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


@lru_cache(maxsize=512)
def type_of(text: str) -> LlvmType:
    """Parse a type: `i32`, `<4 x float>`, `ptr addrspace(3)`, `{ i32, i1 }`."""
    text = text.strip()
    if vector := re.fullmatch(r"[<\[](\d{1,4}) x (.+)[>\]]", text):
        element = type_of(vector[2])
        return LlvmType(element.kinds * int(vector[1]), element.size, element.space)
    if text.startswith("{"):
        fields = [type_of(field) for field in split_operands(text.strip("{} "))]
        return LlvmType(tuple(kind for field in fields for kind in field.kinds), 4)
    if pointer := re.fullmatch(r"ptr(?: addrspace\((\d)\))?", text):
        space = pointer[1] or ""
        # A buffer is its address and how many bytes it has.
        kinds = {"3": ("b32",), "5": ("b32",), "8": ("b64", "b32")}.get(space, ("b64",))
        return LlvmType(kinds, 4 if kinds == ("b32",) else 8, space)
    if integer := re.fullmatch(r"i(\d{1,4})", text):
        bits = int(integer[1])
        kind = {1: "pred", 8: "b16", 16: "b16", 32: "b32", 64: "b64"}.get(bits, "")
        return LlvmType((kind,), max(1, bits // 8))
    return LlvmType(("",), {"half": 2, "bfloat": 2, "double": 8}.get(text, 4))


def typed(operand: str) -> tuple[LlvmType, str]:
    """Split `i32 noundef %5` into its type and its value."""
    match = TYPE.match(operand)
    if match is None:
        return type_of("float"), "poison"
    rest = operand[match.end() :]
    attributes = ATTRIBUTES.match(rest)
    return type_of(match[1]), rest[attributes.end() if attributes else 0 :].strip()


def element_number(text: str) -> int | None:
    """Return the constant at the end of an operand: 3 of `i64 3`."""
    match = re.search(r"(?:^|\s)(\d+)$", text)
    return int(match[1]) if match else None


def type_of_result(opcode: str, rest: str) -> LlvmType:
    """Return the type of the result of an instruction that is not followed."""
    if " to " in rest and opcode not in ("call", "tail"):
        return type_of(rest.rpartition(" to ")[2])
    if opcode == "call":
        rest = re.sub(r"^(?:tail |musttail |notail )?call\s+", "", rest)
    while flags := FLAGS.match(rest):
        rest = rest[flags.end() :]
    if opcode == "fcmp":
        rest = rest.partition(" ")[2]
    attributes = ATTRIBUTES.match(rest)
    match = TYPE.match(rest[attributes.end() if attributes else 0 :])
    kind = type_of(match[1]) if match else type_of("float")
    return LlvmType(("pred",) * len(kind.kinds), 1) if opcode == "fcmp" else kind


_SUFFIX = re.compile(r"\.(?:v(\d{1,3}))?(i|f|bf)(\d{1,3})(?:\.|$)")


def type_of_suffix(callee: str) -> LlvmType:
    """Return the type in the name of an intrinsic: `.v4f32` of a load."""
    match = _SUFFIX.search(callee, callee.rfind("."))
    if match is None:
        return type_of("i32")
    bits = int(match[3])
    element = f"i{bits}" if match[2] == "i" else {16: "half", 64: "double"}.get(bits, "float")
    return type_of(f"<{match[1]} x {element}>" if match[1] else element)


class LoweredValues:
    """The lines that were written, and what each name means."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.lines: list[int] = []
        self.line = 0
        self._values: dict[str, Values] = {}
        # The registers of names that are used before their definition.
        self._awaited: dict[str, Values] = {}
        self._numbers: defaultdict[str, int] = defaultdict(int)

    def emit(self, text: str) -> None:
        """Add a line."""
        self.text.append(text)
        self.lines.append(self.line)

    def new(self, kind: str) -> str:
        """Return a new register of a type."""
        self._numbers[kind] += 1
        return f"{_REGISTERS[kind]}{self._numbers[kind]}"

    def define(self, name: str, kind: LlvmType) -> Values:
        """Return the registers of a name that is defined now: those that were promised, or new ones."""
        registers = self._awaited.pop(name, None) or [self.new(one) for one in kind.kinds]
        self._values[name] = registers
        return registers

    def rename(self, name: str, values: Values, kind: LlvmType) -> None:
        """Let a name mean other registers or constants, without an instruction."""
        awaited = self._awaited.pop(name, None)
        if awaited is None:
            self._values[name] = values
            return
        self._values[name] = awaited
        for register, value, one in zip(awaited, values, kind.kinds, strict=False):
            if one:
                self.emit(f"mov.{one} {register}, {value};")

    def unknown(self, name: str, kind: LlvmType) -> None:
        """Define a name by an instruction of which only the place matters."""
        registers = self.define(name, kind)
        self.emit(f"fma.rn.f32 {registers[0]};")

    def read(self, kind: LlvmType, value: str) -> Values:
        """Return the registers or constants of a value of a type."""
        if value.startswith("%"):
            known = self._values.get(value) or self._awaited.get(value)
            if known is None:
                known = self._awaited[value] = [self.new(one) for one in kind.kinds]
            return known
        if value.startswith("@"):
            return [value[1:]]
        return self._constant(kind, value)

    def _constant(self, kind: LlvmType, value: str) -> Values:
        """Return the elements of a constant; those of an unknown one are new registers."""
        if value in _NAMED_CONSTANTS or re.fullmatch(r"-?\d+", value):
            return [_NAMED_CONSTANTS.get(value, value)] * len(kind.kinds)
        if splat := re.match(r"splat \((.*)\)$", value):
            return self.read(*typed(splat[1])) * len(kind.kinds)
        if value.startswith("<"):
            return [self.read(*typed(element))[0] for element in split_operands(value[1:-1])]
        if address := re.match(r"getelementptr\s+(?:inbounds\s+|nuw\s+|nusw\s+)*\((.*)\)$", value):
            return [self.address(address[1])]
        return [self.new(one) for one in kind.kinds]

    def operand(self, text: str) -> tuple[LlvmType, Values]:
        """Parse `i32 %5`: its type, and its registers or constants."""
        kind, value = typed(text)
        return kind, self.read(kind, value)

    def compute(self, kind: str, opcode: str, *sources: str) -> str:
        """Emit an instruction with a new result."""
        result = self.new(kind)
        self.emit(f"{opcode} {', '.join((result, *sources))};")
        return result

    def each(self, name: str, kind: LlvmType, opcode: Callable[[str], str], *sources: Values) -> None:
        """Compute each element of a vector."""
        results = self.define(name, kind)
        for result, one, *operands in zip(results, kind.kinds, *sources, strict=False):
            self.emit(f"{opcode(one)} {', '.join((result, *operands))};" if one else f"fma.rn.f32 {result};")

    def address(self, rest: str) -> str:
        """Compute an address: its base and, for each index, how many elements of what size it skips."""
        operands = split_operands(rest)
        element, (kind, base) = operands[0], self.operand(operands[1])
        address, bits = base[0], kind.kinds[0][1:]
        for position, index_text in enumerate(operands[2:]):
            if position and (inner := re.fullmatch(r"[<\[]\d+ x (.+)[>\]]", element)):
                element = inner[1]
            size = type_of(element).bytes
            index_type, index = self.operand(index_text)
            number = index[0]
            if re.fullmatch(r"-?\d+", number):
                if offset := int(number) * size:
                    address = self.compute(kind.kinds[0], f"add.s{bits}", address, str(offset))
                continue
            if index_type.kinds[0] != kind.kinds[0]:
                number = self.compute(kind.kinds[0], f"cvt.s{bits}.s{index_type.size * 8}", number)
            address = self.compute(kind.kinds[0], f"mad.lo.s{bits}", number, str(size), address)
        return address

    def access(
        self, name: str, space: str, address: str, kind: LlvmType, values: Sequence[str], guard: str = ""
    ) -> None:
        """Emit the accesses of one load or store: of at most 16 bytes each."""
        step = max(1, _WIDEST // kind.size)
        for first in range(0, len(kind.kinds), step):
            part = list(values[first : first + step])
            size = kind.size
            if len(part) not in (1, 2, 4, 8):
                part = part * 8
                part = part[: 2 ** (min(len(kind.kinds), step) - 1).bit_length()]
            if (len(part) == 8 and size == 1) or size * len(part) > _WIDEST:
                part = part[: _WIDEST // size]
            vector = f".v{len(part)}" if len(part) > 1 else ""
            text = f"{{{', '.join(part)}}}" if vector else part[0]
            where = f"[{address}+{first * size}]"
            both = (text, where) if name == "ld" else (where, text)
            self.emit(f"{guard}{name}.{space}{vector}.b{size * 8} {both[0]}, {both[1]};")

    def atomic(
        self,
        name: str,
        operation: str,
        space: str,
        address: str,
        kind: LlvmType,
        values: Values,
        guard: str = "",
    ) -> None:
        """Emit an atomic of memory; only its place and width matter."""
        floats = not kind.kinds[0]
        result = self.define(name, kind)[0] if name else self.new(kind.kinds[0])
        types = {2: "f16", 4: "f32", 8: "f64"} if floats else {2: "b16", 4: "u32", 8: "u64"}
        vector = "x2" if floats and kind.size == 2 and len(kind.kinds) == 2 else ""
        done = _OPERATIONS.get(operation.removeprefix("f"), "exch")
        unit = f"atom.{space}.relaxed.gpu.{done}.{types.get(kind.size, 'u32')}{vector}"
        self.emit(f"{guard}{unit} {result}, [{address}], {values[0]};")

    def cast(self, name: str, rest: str) -> None:
        """Rename the registers of a value, if the new type has as many of the same size."""
        source, _, target = rest.partition(" to ")
        kind, values = self.operand(source)
        result = type_of(target)
        if kind.kinds == result.kinds:
            self.rename(name, values, result)
        elif kind.kinds == ("b64",) and result.kinds == ("b32",):
            self.each(name, result, lambda _: "cvt.u32.u64", values)
        elif kind.kinds == ("b32",) and result.kinds == ("b64",):
            self.each(name, result, lambda _: "cvt.u64.u32", values)
        else:
            self.rename(name, [self.new(one) for one in result.kinds], result)

    def freeze(self, name: str, rest: str) -> None:
        """Let a name mean the value itself."""
        kind, values = self.operand(rest)
        self.rename(name, values, kind)

    def extract(self, name: str, rest: str) -> None:
        """Read one element."""
        vector, index = split_operands(rest)[:2]
        kind, values = self.operand(vector)
        number = element_number(index)
        result = LlvmType(kind.kinds[:1] if number is None else kind.kinds[number : number + 1], kind.size)
        if number is None or number >= len(values):
            self.unknown(name, result if result.kinds else type_of("float"))
        else:
            self.rename(name, [values[number]], result)

    def insert(self, name: str, rest: str) -> None:
        """Replace one element."""
        vector, element, index = split_operands(rest)[:3]
        kind, values = self.operand(vector)
        number, value = element_number(index), self.operand(element)[1]
        changed = list(values)
        if number is None or number >= len(changed):
            changed = [self.new(one) for one in kind.kinds]
        else:
            changed[number] = value[0]
        self.rename(name, changed, kind)

    def shuffle(self, name: str, rest: str) -> None:
        """Choose elements of two vectors."""
        first, second, mask = split_operands(rest)[:3]
        kind, a = self.operand(first)
        both = a + self.operand(second)[1]
        kinds = kind.kinds[:1]
        mask_type, mask_value = typed(mask)
        if mask_value in ("zeroinitializer", "poison"):
            chosen: list[int | None] = [0] * len(mask_type.kinds)
        else:
            chosen = [element_number(element) for element in split_operands(mask_value[1:-1])]
        result = LlvmType(kinds * len(chosen), kind.size)
        values = [
            self.new(kinds[0]) if number is None or number >= len(both) else both[number] for number in chosen
        ]
        self.rename(name, values, result)
