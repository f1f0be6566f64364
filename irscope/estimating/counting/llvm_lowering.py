"""LLVM IR of an AMD kernel in the words of PTX, so that one interpreter counts the kernels of both vendors.

    %19 = select i1 %16, i32 %18, i32 -2147483648
    %20 = call <4 x float> @llvm.amdgcn.raw.ptr.buffer.load.v4f32(ptr addrspace(8) %17, i32 %19, i32 0, i32 0)
        -> selp.b32 %r9, %r8, -2147483648, %p1;
           setp.lt.u32 %p2, %r9, %r7; ...  @%p2 ld.global.v4.b32 {%f1, %f2, %f3, %f4}, [%rd5];

Vectors become one register per element, so that moving elements costs nothing. A buffer access outside of the
buffer does nothing: its bounds become the predicate. What computes floating-point values keeps its place, but
not its operands. See LLVM's Language Reference and "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

# The values of a name: one register or constant for each element of a vector or field of a structure.
_Values = list[str]

_VALUE = re.compile(r'%(?:[-\w.$]+|"[^"]*")')
_ASSIGNED = re.compile(r'(%(?:[-\w.$]+|"[^"]*")) = (.*)')
_LABEL = re.compile(r'("[^"]*"|[-\w.$]+):')
_TYPE = re.compile(r"(<\d+ x .+?>|\{.*?\}|\[\d+ x .+?\]|ptr(?: addrspace\(\d\))?|[a-z][\w.]*)(?:\s+|$)")
_ATTRIBUTES = re.compile(
    r"(?:(?:nonnull|noundef|inreg|immarg|nofree|readonly|writeonly|readnone|zeroext|signext|returned)\s+"
    r"|(?:align|dereferenceable|range|captures|memory|nofpclass)(?:\([^)]*\)|\s+\d+)\s+)*"
)
_FLAGS = re.compile(
    r"(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc"
    r"|volatile|atomic)\s+"
)
_CALL = re.compile(r"(?:tail |musttail |notail )?call\s.*?@([\w.$]+)\((.*)\)")
_SPACES = {"": "global", "0": "global", "1": "global", "3": "shared", "4": "global", "5": "local"}
_THREADS = re.compile(r'"amdgpu-flat-work-group-size"="\d+,(\d{1,4})"')
_SHARED = re.compile(r"^@([\w.$]+) = .*addrspace\(3\) global \[(\d+) x i8\]", re.MULTILINE)
_REGISTERS = {"pred": "%p", "b16": "%rs", "b32": "%r", "b64": "%rd", "": "%f"}
_ARITHMETIC = {
    "add": "add.s", "sub": "sub.s", "mul": "mul.lo.s", "and": "and.b", "or": "or.b", "xor": "xor.b",
    "shl": "shl.b", "lshr": "shr.u", "ashr": "shr.s", "sdiv": "div.s", "udiv": "div.u", "srem": "rem.s",
    "urem": "rem.u",
}  # fmt: skip
_CHOICES = {
    "llvm.smin": "min.s", "llvm.smax": "max.s", "llvm.umin": "min.u", "llvm.umax": "max.u",
    "llvm.abs": "abs.s",
}  # fmt: skip
_NAMED_CONSTANTS = {"zeroinitializer": "0", "null": "0", "false": "0", "true": "1"}
_COMPARED = {"sl": "l", "sg": "g", "ul": "l", "ug": "g"}
_MATRIX = ("llvm.amdgcn.mfma.", "llvm.amdgcn.wmma.", "llvm.amdgcn.smfmac.", "llvm.amdgcn.swmmac.")
_WIDEST = 16  # bytes that one instruction moves per lane


class Lowered(NamedTuple):
    """The PTX of a kernel, and the line (index from 0) of the LLVM IR of each of its lines."""

    text: str
    lines: tuple[int, ...]


class _Type(NamedTuple):
    """A type: the register type of each element ("" if its values are not followed) and its size in bytes."""

    kinds: tuple[str, ...]
    size: int
    space: str = ""

    @property
    def bytes(self) -> int:
        return self.size * len(self.kinds)


def lowered(text: str) -> Lowered:
    """Lower the kernel of an LLVM IR text. Never fails: what is not known becomes an unknown value."""
    lowering = _Lowering(text)
    lines = text.split("\n")
    start = next((index for index, line in enumerate(lines) if line.startswith("define amdgpu_kernel")), None)
    if start is None:
        return Lowered("", ())
    end = next((index for index in range(start, len(lines)) if lines[index] == "}"), len(lines))
    body = _statements(lines, start + 1, end)
    lowering.head(lines[start])
    lowering.find_moves(body)
    for index, statement in body:
        lowering.line = index
        lowering.statement(statement)
    lowering.emit("}")
    return Lowered("\n".join(lowering.text) + "\n", tuple(lowering.lines))


def _statements(lines: Sequence[str], start: int, end: int) -> list[tuple[int, str]]:
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


def _split(text: str) -> list[str]:
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
def _type(text: str) -> _Type:
    text = text.strip()
    if vector := re.fullmatch(r"[<\[](\d{1,4}) x (.+)[>\]]", text):
        element = _type(vector[2])
        return _Type(element.kinds * int(vector[1]), element.size, element.space)
    if text.startswith("{"):
        fields = [_type(field) for field in _split(text.strip("{} "))]
        return _Type(tuple(kind for field in fields for kind in field.kinds), 4)
    if pointer := re.fullmatch(r"ptr(?: addrspace\((\d)\))?", text):
        space = pointer[1] or ""
        # A buffer is its address and how many bytes it has.
        kinds = {"3": ("b32",), "5": ("b32",), "8": ("b64", "b32")}.get(space, ("b64",))
        return _Type(kinds, 4 if kinds == ("b32",) else 8, space)
    if integer := re.fullmatch(r"i(\d{1,4})", text):
        bits = int(integer[1])
        kind = {1: "pred", 8: "b16", 16: "b16", 32: "b32", 64: "b64"}.get(bits, "")
        return _Type((kind,), max(1, bits // 8))
    return _Type(("",), {"half": 2, "bfloat": 2, "double": 8}.get(text, 4))


def _typed(operand: str) -> tuple[_Type, str]:
    """Split `i32 noundef %5` into its type and its value."""
    match = _TYPE.match(operand)
    if match is None:
        return _type("float"), "poison"
    rest = operand[match.end() :]
    attributes = _ATTRIBUTES.match(rest)
    return _type(match[1]), rest[attributes.end() if attributes else 0 :].strip()


class _Lowering:
    """The state of lowering one kernel."""

    def __init__(self, text: str) -> None:
        threads = _THREADS.search(text)
        self._threads = int(threads[1]) if threads else 0
        self._shared = _SHARED.findall(text)
        self.text: list[str] = []
        self.lines: list[int] = []
        self.line = 0
        self._values: dict[str, _Values] = {}
        # The registers of names that are used before their definition.
        self._awaited: dict[str, _Values] = {}
        self._numbers: defaultdict[str, int] = defaultdict(int)
        self._labels: dict[str, str] = {}
        self._block = ""
        # By block: the phi nodes of its successors, as (the registers of a phi, types, the value).
        self._moves: defaultdict[str, list[tuple[_Values, _Type, str]]] = defaultdict(list)
        self._phis: dict[str, _Values] = {}

    def emit(self, text: str) -> None:
        """Add a line."""
        self.text.append(text)
        self.lines.append(self.line)

    def head(self, line: str) -> None:
        """Write the header: the kernel with its parameters, which are loaded into registers."""
        for name, size in self._shared:
            self.emit(f".extern .shared .align 16 .b8 {name}[{'' if size == '0' else size}];")
        parameters = _split(line[line.index("(") + 1 : line.rindex(")", 0, _end_of_parameters(line))])
        types = [_typed(parameter)[0] for parameter in parameters]
        declared = [f".param .{_parameter(kind)} kernel_param_{number}" for number, kind in enumerate(types)]
        self.emit(f".visible .entry kernel({', '.join(declared)})")
        if self._threads:
            self.emit(f".reqntid {self._threads}")
        self.emit("{")
        for number, (parameter, kind) in enumerate(zip(parameters, types, strict=True)):
            name = parameter.rpartition(" ")[2]
            registers = self._define(name, kind)
            if kind.kinds[0]:
                self.emit(f"ld.param.{kind.kinds[0]} {registers[0]}, [kernel_param_{number}];")

    def find_moves(self, body: Sequence[tuple[int, str]]) -> None:
        """Find the labels and what each block gives to the phi nodes of those that follow it."""
        for _, code in body:
            if match := _LABEL.fullmatch(code):
                self._labels[match[1].strip('"')] = f"$L__{len(self._labels)}"
        for _, code in body:
            match = _ASSIGNED.match(code)
            if match is None or not match[2].startswith("phi "):
                continue
            type_text = _TYPE.match(match[2][4:].lstrip())
            if type_text is None:
                continue
            kind = _type(type_text[1])
            given = [self._new(one) for one in kind.kinds]
            self._phis[match[1]] = given
            for value, label in re.findall(r"\[ (.+?), %([-\w.$]+|\"[^\"]*\") \]", match[2]):
                block = label.strip('"')
                self._moves[block if block in self._labels else ""].append((given, kind, value))

    def statement(self, code: str) -> None:
        """Lower one instruction or label."""
        if label := _LABEL.fullmatch(code):
            self._block = label[1].strip('"')
            self.emit(f"{self._labels[self._block]}:")
            return
        assigned = _ASSIGNED.match(code)
        name, code = (assigned[1], assigned[2]) if assigned else ("", code)
        opcode, _, rest = code.partition(" ")
        if "call " in code[:14]:
            self._call(name, code)
            return
        if opcode in ("br", "switch", "ret", "unreachable", "indirectbr"):
            self._terminator(opcode, rest)
            return
        while flags := _FLAGS.match(rest):
            rest = rest[flags.end() :]
        lower = _INSTRUCTIONS.get(opcode)
        if opcode in _ARITHMETIC:
            self._arithmetic(name, opcode, rest)
        elif lower is not None:
            lower(self, name, rest)
        elif name:
            self._unknown(name, _type_of_result(opcode, rest))

    # Values

    def _new(self, kind: str) -> str:
        self._numbers[kind] += 1
        return f"{_REGISTERS[kind]}{self._numbers[kind]}"

    def _define(self, name: str, kind: _Type) -> _Values:
        """Return the registers of a name that is defined now: those that were promised, or new ones."""
        registers = self._awaited.pop(name, None) or [self._new(one) for one in kind.kinds]
        self._values[name] = registers
        return registers

    def _set(self, name: str, values: _Values, kind: _Type) -> None:
        """Let a name mean other registers or constants, without an instruction."""
        awaited = self._awaited.pop(name, None)
        if awaited is None:
            self._values[name] = values
            return
        self._values[name] = awaited
        for register, value, one in zip(awaited, values, kind.kinds, strict=False):
            if one:
                self.emit(f"mov.{one} {register}, {value};")

    def _unknown(self, name: str, kind: _Type) -> None:
        """Define a name by an instruction of which only the place matters."""
        registers = self._define(name, kind)
        self.emit(f"fma.rn.f32 {registers[0]};")

    def _read(self, kind: _Type, value: str) -> _Values:
        """Return the registers or constants of a value of a type."""
        if value.startswith("%"):
            known = self._values.get(value) or self._awaited.get(value)
            if known is None:
                known = self._awaited[value] = [self._new(one) for one in kind.kinds]
            return known
        if value.startswith("@"):
            return [value[1:]]
        return self._constant(kind, value)

    def _constant(self, kind: _Type, value: str) -> _Values:
        """Return the elements of a constant; those of an unknown one are new registers."""
        if value in _NAMED_CONSTANTS or re.fullmatch(r"-?\d+", value):
            return [_NAMED_CONSTANTS.get(value, value)] * len(kind.kinds)
        if splat := re.match(r"splat \((.*)\)$", value):
            return self._read(*_typed(splat[1])) * len(kind.kinds)
        if value.startswith("<"):
            return [self._read(*_typed(element))[0] for element in _split(value[1:-1])]
        if address := re.match(r"getelementptr\s+(?:inbounds\s+|nuw\s+|nusw\s+)*\((.*)\)$", value):
            return [self._address(address[1])]
        return [self._new(one) for one in kind.kinds]

    def _operand(self, text: str) -> tuple[_Type, _Values]:
        kind, value = _typed(text)
        return kind, self._read(kind, value)

    def _compute(self, kind: str, opcode: str, *sources: str) -> str:
        """Emit an instruction with a new result."""
        result = self._new(kind)
        self.emit(f"{opcode} {', '.join((result, *sources))};")
        return result

    # Instructions

    def _arithmetic(self, name: str, opcode: str, rest: str) -> None:
        first, second = _split(rest)[:2]
        kind, a = self._operand(first)
        b = self._read(kind, second)
        self._each(name, kind, lambda one: _arithmetic_opcode(opcode, one), a, b)

    def _each(self, name: str, kind: _Type, opcode: Callable[[str], str], *sources: _Values) -> None:
        """Compute each element of a vector."""
        results = self._define(name, kind)
        for result, one, *operands in zip(results, kind.kinds, *sources, strict=False):
            self.emit(f"{opcode(one)} {', '.join((result, *operands))};" if one else f"fma.rn.f32 {result};")

    def _compare(self, name: str, rest: str) -> None:
        comparison, _, rest = rest.partition(" ")
        if comparison == "samesign":
            comparison, _, rest = rest.partition(" ")
        first, second = _split(rest)[:2]
        kind, a = self._operand(first)
        b = self._read(kind, second)
        condition = _COMPARED.get(comparison[:2], comparison[0]) + comparison[-1]
        sign = "u" if comparison[0] == "u" else "s"
        results = self._define(name, _Type(("pred",) * len(kind.kinds), 1))
        for result, one, x, y in zip(results, kind.kinds, a, b, strict=False):
            if one == "pred":
                differ = self._compute("pred", "xor.pred", x, y) if comparison == "eq" else ""
                self.emit(f"not.pred {result}, {differ};" if differ else f"xor.pred {result}, {x}, {y};")
            elif one:
                self.emit(f"setp.{condition}.{sign}{one[1:]} {result}, {x}, {y};")

    def _select(self, name: str, rest: str) -> None:
        condition, first, second = _split(rest)[:3]
        conditions = self._operand(condition)[1]
        kind, a = self._operand(first)
        b = self._operand(second)[1]
        if len(conditions) == 1:
            conditions = conditions * len(kind.kinds)
        self._each(name, kind, lambda one: f"selp.{one}", a, b, conditions)

    def _phi(self, name: str, rest: str) -> None:
        kind = _type((_TYPE.match(rest) or ["", "float"])[1])
        registers = self._define(name, kind)
        for register, given, one in zip(registers, self._phis[name], kind.kinds, strict=True):
            if one:
                self.emit(f"mov.{one} {register}, {given};")

    def _extend(self, name: str, rest: str, sign: str) -> None:
        source, _, target = rest.partition(" to ")
        kind, values = self._operand(source)
        result = _type(target)
        bits, from_bits = result.size * 8, kind.size * 8

        def opcode(one: str) -> str:
            return f"cvt.{sign}{bits}.{sign}{from_bits}"

        if kind.kinds[0] == "pred":
            ones = ["-1" if sign == "s" else "1"] * len(values)
            self._each(name, result, lambda one: f"selp.{one}", ones, ["0"] * len(values), values)
        else:
            self._each(name, result, opcode if all(kind.kinds) else lambda one: "fma.rn.f32", values)

    def _truncate(self, name: str, rest: str) -> None:
        source, _, target = rest.partition(" to ")
        kind, values = self._operand(source)
        result = _type(target)
        if not all(kind.kinds):
            self._unknown(name, result)
        elif result.kinds[0] == "pred":
            one = kind.kinds[0]
            low = [self._compute(one, f"and.{one}", value, "1") for value in values]
            self._each(name, result, lambda _: f"setp.ne.s{one[1:]}", low, ["0"] * len(low))
        else:
            self._each(name, result, lambda _: f"cvt.u{result.size * 8}.u{kind.size * 8}", values)

    def _cast(self, name: str, rest: str) -> None:
        """Rename the registers of a value, if the new type has as many of the same size."""
        source, _, target = rest.partition(" to ")
        kind, values = self._operand(source)
        result = _type(target)
        if kind.kinds == result.kinds:
            self._set(name, values, result)
        elif kind.kinds == ("b64",) and result.kinds == ("b32",):
            self._each(name, result, lambda _: "cvt.u32.u64", values)
        elif kind.kinds == ("b32",) and result.kinds == ("b64",):
            self._each(name, result, lambda _: "cvt.u64.u32", values)
        else:
            self._set(name, [self._new(one) for one in result.kinds], result)

    def _freeze(self, name: str, rest: str) -> None:
        kind, values = self._operand(rest)
        self._set(name, values, kind)

    def _pointer(self, name: str, rest: str) -> None:
        operands = _split(rest)
        kind = _typed(operands[1])[0]
        if len(kind.kinds) != 1:
            self._unknown(name, kind)
            return
        self._set(name, [self._address(rest)], kind)

    def _address(self, rest: str) -> str:
        """Compute an address: its base and, for each index, how many elements of what size it skips."""
        operands = _split(rest)
        element, (kind, base) = operands[0], self._operand(operands[1])
        address, bits = base[0], kind.kinds[0][1:]
        for position, index_text in enumerate(operands[2:]):
            if position and (inner := re.fullmatch(r"[<\[]\d+ x (.+)[>\]]", element)):
                element = inner[1]
            size = _type(element).bytes
            index_type, index = self._operand(index_text)
            number = index[0]
            if re.fullmatch(r"-?\d+", number):
                if offset := int(number) * size:
                    address = self._compute(kind.kinds[0], f"add.s{bits}", address, str(offset))
                continue
            if index_type.kinds[0] != kind.kinds[0]:
                number = self._compute(kind.kinds[0], f"cvt.s{bits}.s{index_type.size * 8}", number)
            address = self._compute(kind.kinds[0], f"mad.lo.s{bits}", number, str(size), address)
        return address

    def _extract(self, name: str, rest: str) -> None:
        vector, index = _split(rest)[:2]
        kind, values = self._operand(vector)
        number = _number(index)
        result = _Type(kind.kinds[:1] if number is None else kind.kinds[number : number + 1], kind.size)
        if number is None or number >= len(values):
            self._unknown(name, result if result.kinds else _type("float"))
        else:
            self._set(name, [values[number]], result)

    def _insert(self, name: str, rest: str) -> None:
        vector, element, index = _split(rest)[:3]
        kind, values = self._operand(vector)
        number, value = _number(index), self._operand(element)[1]
        changed = list(values)
        if number is None or number >= len(changed):
            changed = [self._new(one) for one in kind.kinds]
        else:
            changed[number] = value[0]
        self._set(name, changed, kind)

    def _shuffle(self, name: str, rest: str) -> None:
        first, second, mask = _split(rest)[:3]
        kind, a = self._operand(first)
        both = a + self._operand(second)[1]
        kinds = kind.kinds[:1]
        mask_type, mask_value = _typed(mask)
        if mask_value in ("zeroinitializer", "poison"):
            chosen: list[int | None] = [0] * len(mask_type.kinds)
        else:
            chosen = [_number(element) for element in _split(mask_value[1:-1])]
        result = _Type(kinds * len(chosen), kind.size)
        values = [
            self._new(kinds[0]) if number is None or number >= len(both) else both[number]
            for number in chosen
        ]
        self._set(name, values, result)

    # Memory

    def _load(self, name: str, rest: str) -> None:
        operands = _split(rest)
        result = _type(operands[0])
        pointer, address = self._operand(operands[1])
        self._access(
            "ld", _SPACES.get(pointer.space, "global"), address[0], result, self._define(name, result)
        )

    def _store(self, _: str, rest: str) -> None:
        operands = _split(rest)
        kind, values = self._operand(operands[0])
        pointer, address = self._operand(operands[1])
        self._access("st", _SPACES.get(pointer.space, "global"), address[0], kind, values)

    def _access(
        self, name: str, space: str, address: str, kind: _Type, values: Sequence[str], guard: str = ""
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

    def _atomic(self, name: str, rest: str) -> None:
        operation, _, rest = rest.partition(" ")
        operands = _split(rest)
        pointer, address = self._operand(operands[0])
        kind, values = self._operand(operands[1])
        self._atomic_access(name, operation, _SPACES.get(pointer.space, "global"), address[0], kind, values)

    def _exchange(self, name: str, rest: str) -> None:
        operands = _split(rest)
        pointer, address = self._operand(operands[0])
        kind, values = self._operand(operands[2])
        space = _SPACES.get(pointer.space, "global")
        self._values[name] = [self._new(kind.kinds[0]), self._new("pred")]
        self._atomic_access("", "cmpxchg", space, address[0], kind, values)

    def _atomic_access(
        self,
        name: str,
        operation: str,
        space: str,
        address: str,
        kind: _Type,
        values: _Values,
        guard: str = "",
    ) -> None:
        floats = not kind.kinds[0]
        result = self._define(name, kind)[0] if name else self._new(kind.kinds[0])
        types = {2: "f16", 4: "f32", 8: "f64"} if floats else {2: "b16", 4: "u32", 8: "u64"}
        vector = "x2" if floats and kind.size == 2 and len(kind.kinds) == 2 else ""
        done = _OPERATIONS.get(operation.removeprefix("f"), "exch")
        unit = f"atom.{space}.relaxed.gpu.{done}.{types.get(kind.size, 'u32')}{vector}"
        self.emit(f"{guard}{unit} {result}, [{address}], {values[0]};")

    # Control flow

    def _terminator(self, opcode: str, rest: str) -> None:
        for given, kind, value in self._moves.get(self._block, ()):
            values = self._read(kind, value)
            for register, source, one in zip(given, values, kind.kinds, strict=False):
                if one:
                    self.emit(f"mov.{one} {register}, {source};")
        labels = [self._labels.get(name.strip('"'), "$L__?") for name in _BRANCHED.findall(rest)]
        if opcode in ("ret", "unreachable"):
            self.emit("ret;" if opcode == "ret" else "trap;")
        elif opcode == "switch":
            kind, number = self._operand(_split(rest.partition("[")[0])[0])
            cases = re.findall(r"i\d+ (-?\d+), label", rest.partition("[")[2])
            for case, label in zip(cases, labels[1:], strict=False):
                chosen = self._compute("pred", f"setp.eq.s{kind.kinds[0][1:]}", number[0], case)
                self.emit(f"@{chosen} bra {label};")
            self.emit(f"bra.uni {labels[0]};")
        elif len(labels) == 2:
            condition = self._read(_type("i1"), _typed(_split(rest)[0])[1])[0]
            if condition in ("0", "1"):
                condition = self._compute("pred", "mov.pred", condition)
            self.emit(f"@{condition} bra {labels[0]};")
            self.emit(f"bra.uni {labels[1]};")
        else:
            self.emit(f"bra.uni {labels[0] if labels else '$L__?'};")

    # Calls

    def _call(self, name: str, code: str) -> None:
        match = _CALL.match(code)
        if match is None:
            if name:
                self._unknown(name, _type_of_result("call", code))
            return
        callee, operands = match[1], _split(match[2])
        if callee.startswith(_MATRIX):
            self._define(name, _type_of_result("call", code))
            self.emit(f"{_matrix_opcode(callee, operands)} %f0;")
            return
        for prefix, lower in _CALLS.items():
            if callee.startswith(prefix):
                lower(self, name, callee, operands)
                return
        if name:
            kind = _type_of_result("call", code)
            registers = self._define(name, kind)
            special = any(word in callee for word in ("exp2", "rcp", "sqrt", "log", "sin", "cos"))
            self.emit(f"{'ex2.approx.f32' if special else 'fma.rn.f32'} {registers[0]};")

    def _work_item(self, name: str, callee: str, _: Sequence[str]) -> None:
        axis = callee[-1]
        self._set(name, [f"%{'tid' if 'workitem' in callee else 'ctaid'}.{axis}"], _type("i32"))

    def _wave(self, name: str, _: str, __: Sequence[str]) -> None:
        self._set(name, ["%warpid"], _type("i32"))

    def _lane(self, name: str, callee: str, operands: Sequence[str]) -> None:
        """Read the value of another lane: the first, one of a constant number, or one by its address."""
        value, by = operands[0], "0"
        if "readlane" in callee:
            by = self._operand(operands[1])[1][0]
        elif "bpermute" in callee:
            value = operands[1]
            by = self._compute("b32", "shr.u32", self._operand(operands[0])[1][0], "2")
        kind, values = self._operand(value)
        if kind.kinds != ("b32",):
            self._unknown(name, kind)
            return
        result = self._define(name, kind)[0]
        self.emit(f"shfl.sync.idx.b32 {result}|%p0, {values[0]}, {by}, 31, -1;")

    def _ballot(self, name: str, callee: str, operands: Sequence[str]) -> None:
        kind = _type_of_suffix(callee)
        self._each(name, kind, lambda one: f"vote.sync.ballot.{one}", self._operand(operands[0])[1], ["-1"])

    def _lane_number(self, name: str, callee: str, operands: Sequence[str]) -> None:
        """Count the lanes below this one: in the low or the high half of a wave."""
        added = self._operand(operands[1])[1][0]
        bounded = "min.s32" if ".lo" in callee else "max.s32"
        below = self._compute("b32", bounded, "%laneid", "32")
        if ".hi" in callee:
            below = self._compute("b32", "sub.s32", below, "32")
        self._each(name, _type("i32"), lambda _: "add.s32", [below], [added])

    def _resource(self, name: str, _: str, operands: Sequence[str]) -> None:
        """Keep the address and the size of a buffer."""
        base, size = self._operand(operands[0])[1][0], self._operand(operands[2])[1][0]
        self._set(name, [base, size], _type("ptr addrspace(8)"))

    def _choose(self, name: str, callee: str, operands: Sequence[str]) -> None:
        opcode = next(value for prefix, value in _CHOICES.items() if callee.startswith(prefix))
        kind, first = self._operand(operands[0])
        others = [] if "abs" in callee else [self._operand(operands[1])[1]]
        self._each(name, kind, lambda one: f"{opcode}{one[1:]}", first, *others)

    def _funnel(self, name: str, callee: str, operands: Sequence[str]) -> None:
        kind, high = self._operand(operands[0])
        low, by = self._operand(operands[1])[1], self._operand(operands[2])[1]
        if set(kind.kinds) == {"b32"}:
            direction = "l" if "fshl" in callee else "r"
            self._each(name, kind, lambda _: f"shf.{direction}.wrap.b32", low, high, by)
        else:
            self._unknown(name, kind)

    def _place(self, buffer: _Values, offset: str, uniform: str) -> tuple[str, str]:
        """Return the address of a buffer access and the guard that its bounds are."""
        inside = self._compute("pred", "setp.lt.u32", offset, buffer[1] if len(buffer) > 1 else "-1")
        wide = self._compute("b64", "cvt.u64.u32", offset)
        address = self._compute("b64", "add.s64", buffer[0], wide)
        if uniform != "0":
            further = self._compute("b64", "cvt.u64.u32", uniform)
            address = self._compute("b64", "add.s64", address, further)
        return address, inside

    def _buffer_load(self, name: str, callee: str, operands: Sequence[str]) -> None:
        """Lower a load of a buffer, to registers or to LDS."""
        if ".lds" in callee:
            self._load_to_shared(operands, buffer=True)
            return
        kind = _type_of_suffix(callee)
        buffer, offset, uniform = (self._operand(operand)[1] for operand in operands[:3])
        address, inside = self._place(buffer, offset[0], uniform[0])
        self._access("ld", "global", address, kind, self._define(name, kind), f"@{inside} ")

    def _buffer_store(self, _: str, __: str, operands: Sequence[str]) -> None:
        kind, values = self._operand(operands[0])
        buffer, offset, uniform = (self._operand(operand)[1] for operand in operands[1:4])
        address, inside = self._place(buffer, offset[0], uniform[0])
        self._access("st", "global", address, kind, values, f"@{inside} ")

    def _buffer_atomic(self, name: str, callee: str, operands: Sequence[str]) -> None:
        operation = callee.split(".atomic.")[1].partition(".")[0]
        kind, values = self._operand(operands[0])
        at = 2 if operation == "cmpswap" else 1
        buffer, offset, uniform = (self._operand(operand)[1] for operand in operands[at : at + 3])
        address, inside = self._place(buffer, offset[0], uniform[0])
        self._atomic_access(name, operation, "global", address, kind, values, f"@{inside} ")

    def _global_to_shared(self, _: str, __: str, operands: Sequence[str]) -> None:
        self._load_to_shared(operands, buffer=False)

    def _load_to_shared(self, operands: Sequence[str], *, buffer: bool) -> None:
        """Lower a load to LDS: lane n writes n times its size after an address of the whole wave."""
        source, target = (self._operand(operand)[1] for operand in operands[:2])
        width = _number(operands[2]) or 4
        place = self._compute("b32", "mad.lo.s32", "%laneid", str(width), target[0])
        size = str(width)
        address = source[0]
        if buffer:
            offset, uniform = (self._operand(operand)[1] for operand in operands[3:5])
            address, inside = self._place(source, offset[0], uniform[0])
            size = self._compute("b32", "selp.b32", size, "0", inside)
        self.emit(f"cp.async.ca.shared.global [{place}], [{address}], {width}, {size};")

    def _read_transposed(self, name: str, callee: str, operands: Sequence[str]) -> None:
        kind = _type_of_suffix(callee)
        self._access("ld", "shared", self._operand(operands[0])[1][0], kind, self._define(name, kind))

    def _barrier(self, _: str, __: str, ___: Sequence[str]) -> None:
        self.emit("bar.sync 0;")

    def _nothing(self, _: str, __: str, ___: Sequence[str]) -> None:
        """Lower what has no effect on counts."""


_BRANCHED = re.compile(r'label %("[^"]*"|[-\w.$]+)')
_OPERATIONS = {
    "add": "add", "max": "max", "min": "min", "and": "and", "or": "or", "xor": "xor", "xchg": "exch",
    "cmpxchg": "cas", "cmpswap": "cas", "umax": "max", "umin": "min", "smax": "max", "smin": "min",
    "sub": "add", "inc": "inc", "dec": "dec", "swap": "exch",
}  # fmt: skip
_Lower = Callable[[_Lowering, str, str], None]
_INSTRUCTIONS: Mapping[str, _Lower] = {
    "icmp": _Lowering._compare,
    "select": _Lowering._select,
    "phi": _Lowering._phi,
    "zext": lambda lowering, name, rest: lowering._extend(name, rest, "u"),
    "sext": lambda lowering, name, rest: lowering._extend(name, rest, "s"),
    "trunc": _Lowering._truncate,
    "bitcast": _Lowering._cast,
    "ptrtoint": _Lowering._cast,
    "inttoptr": _Lowering._cast,
    "addrspacecast": _Lowering._cast,
    "freeze": _Lowering._freeze,
    "getelementptr": _Lowering._pointer,
    "extractelement": _Lowering._extract,
    "extractvalue": _Lowering._extract,
    "insertelement": _Lowering._insert,
    "insertvalue": _Lowering._insert,
    "shufflevector": _Lowering._shuffle,
    "load": _Lowering._load,
    "store": _Lowering._store,
    "atomicrmw": _Lowering._atomic,
    "cmpxchg": _Lowering._exchange,
}
_CALLS: Mapping[str, Callable[[_Lowering, str, str, Sequence[str]], None]] = {
    "llvm.amdgcn.workitem.id": _Lowering._work_item,
    "llvm.amdgcn.workgroup.id": _Lowering._work_item,
    "llvm.amdgcn.wave.id": _Lowering._wave,
    "llvm.amdgcn.readfirstlane": _Lowering._lane,
    "llvm.amdgcn.readlane": _Lowering._lane,
    "llvm.amdgcn.ds.bpermute": _Lowering._lane,
    "llvm.amdgcn.ballot": _Lowering._ballot,
    "llvm.amdgcn.mbcnt": _Lowering._lane_number,
    "llvm.amdgcn.make.buffer.rsrc": _Lowering._resource,
    "llvm.amdgcn.raw.ptr.buffer.load": _Lowering._buffer_load,
    "llvm.amdgcn.raw.ptr.buffer.store": _Lowering._buffer_store,
    "llvm.amdgcn.raw.ptr.buffer.atomic": _Lowering._buffer_atomic,
    "llvm.amdgcn.global.load.lds": _Lowering._global_to_shared,
    "llvm.amdgcn.global.load.async.lds": _Lowering._global_to_shared,
    "llvm.amdgcn.load.to.lds": _Lowering._global_to_shared,
    "llvm.amdgcn.ds.read.tr": _Lowering._read_transposed,
    "llvm.amdgcn.ds.load.tr": _Lowering._read_transposed,
    "llvm.amdgcn.s.barrier": _Lowering._barrier,
    "llvm.amdgcn.sched": _Lowering._nothing,
    "llvm.amdgcn.iglp": _Lowering._nothing,
    "llvm.amdgcn.s.": _Lowering._nothing,
    "llvm.amdgcn.asyncmark": _Lowering._nothing,
    "llvm.amdgcn.wait": _Lowering._nothing,
    "llvm.assume": _Lowering._nothing,
    "llvm.fsh": _Lowering._funnel,
    **dict.fromkeys(_CHOICES, _Lowering._choose),
}


def _end_of_parameters(line: str) -> int:
    depth = 0
    for index in range(line.index("("), len(line)):
        depth += {"(": 1, ")": -1}.get(line[index], 0)
        if not depth:
            return index + 1
    return len(line)


def _parameter(kind: _Type) -> str:
    """Return the type of a parameter as PTX has it."""
    if not kind.kinds[0]:
        return f"f{kind.size * 8}"
    return "u8" if kind.kinds[0] == "pred" else f"u{kind.size * 8}"


def _arithmetic_opcode(opcode: str, kind: str) -> str:
    name = _ARITHMETIC[opcode]
    return f"{name.partition('.')[0]}.pred" if kind == "pred" else f"{name}{kind[1:]}"


def _number(text: str) -> int | None:
    """Return the constant at the end of an operand: 3 of `i64 3`."""
    match = re.search(r"(?:^|\s)(\d+)$", text)
    return int(match[1]) if match else None


def _type_of_result(opcode: str, rest: str) -> _Type:
    """Return the type of the result of an instruction that is not followed."""
    if " to " in rest and opcode not in ("call", "tail"):
        return _type(rest.rpartition(" to ")[2])
    if opcode == "call":
        rest = re.sub(r"^(?:tail |musttail |notail )?call\s+", "", rest)
    while flags := _FLAGS.match(rest):
        rest = rest[flags.end() :]
    if opcode == "fcmp":
        rest = rest.partition(" ")[2]
    attributes = _ATTRIBUTES.match(rest)
    match = _TYPE.match(rest[attributes.end() if attributes else 0 :])
    kind = _type(match[1]) if match else _type("float")
    return _Type(("pred",) * len(kind.kinds), 1) if opcode == "fcmp" else kind


_SUFFIX = re.compile(r"\.(?:v(\d{1,3}))?(i|f|bf)(\d{1,3})(?:\.|$)")


def _type_of_suffix(callee: str) -> _Type:
    """Return the type in the name of an intrinsic: `.v4f32` of a load."""
    match = _SUFFIX.search(callee, callee.rfind("."))
    if match is None:
        return _type("i32")
    bits = int(match[3])
    element = f"i{bits}" if match[2] == "i" else {16: "half", 64: "double"}.get(bits, "float")
    return _type(f"<{match[1]} x {element}>" if match[1] else element)


def _matrix_opcode(callee: str, operands: Sequence[str]) -> str:
    """Return the name of a matrix instruction as AMDGCN has it: v_mfma_f32_32x32x8_f16."""
    parts = callee.removeprefix("llvm.amdgcn.").split(".")
    shape = next((index for index, part in enumerate(parts) if re.match(r"\d+x\d+x\d+", part)), None)
    if shape is None:
        return "v_" + "_".join(parts)
    sizes = re.match(r"(\d+x\d+x\d+)(\w*)", parts[shape])
    following = ([sizes[2]] if sizes and sizes[2] else []) + parts[shape + 1 : shape + 2]
    before = parts[shape - 1] if shape and parts[shape - 1] != "scale" else "f32"
    name = f"v_{parts[0]}_{'scale_' if 'scale' in parts else ''}{before}_{sizes[1] if sizes else ''}"
    return name + "".join(f"_{part}" for part in following[:1])
