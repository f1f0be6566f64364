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
from typing import NamedTuple

from irscope.estimating.counting.llvm_values import (
    FLAGS,
    SPACES,
    TYPE,
    LlvmType,
    LoweredValues,
    Values,
    element_number,
    split_operands,
    statements,
    type_of,
    type_of_result,
    type_of_suffix,
    typed,
)

_VALUE = re.compile(r'%(?:[-\w.$]+|"[^"]*")')
_ASSIGNED = re.compile(r'(%(?:[-\w.$]+|"[^"]*")) = (.*)')
_LABEL = re.compile(r'("[^"]*"|[-\w.$]+):')
_CALL = re.compile(r"(?:tail |musttail |notail )?call\s.*?@([\w.$]+)\((.*)\)")
_THREADS = re.compile(r'"amdgpu-flat-work-group-size"="\d+,(\d{1,4})"')
_SHARED = re.compile(r"^@([\w.$]+) = .*addrspace\(3\) global \[(\d+) x i8\]", re.MULTILINE)
_ARITHMETIC = {
    "add": "add.s", "sub": "sub.s", "mul": "mul.lo.s", "and": "and.b", "or": "or.b", "xor": "xor.b",
    "shl": "shl.b", "lshr": "shr.u", "ashr": "shr.s", "sdiv": "div.s", "udiv": "div.u", "srem": "rem.s",
    "urem": "rem.u",
}  # fmt: skip
_CHOICES = {
    "llvm.smin": "min.s", "llvm.smax": "max.s", "llvm.umin": "min.u", "llvm.umax": "max.u",
    "llvm.abs": "abs.s",
}  # fmt: skip
_COMPARED = {"sl": "l", "sg": "g", "ul": "l", "ug": "g"}
_MATRIX = ("llvm.amdgcn.mfma.", "llvm.amdgcn.wmma.", "llvm.amdgcn.smfmac.", "llvm.amdgcn.swmmac.")


class Lowered(NamedTuple):
    """The PTX of a kernel, and the line (index from 0) of the LLVM IR of each of its lines."""

    text: str
    lines: tuple[int, ...]


def lowered(text: str) -> Lowered:
    """Lower the kernel of an LLVM IR text. Never fails: what is not known becomes an unknown value."""
    lowering = _Lowering(text)
    lines = text.split("\n")
    start = next((index for index, line in enumerate(lines) if line.startswith("define amdgpu_kernel")), None)
    if start is None:
        return Lowered("", ())
    end = next((index for index in range(start, len(lines)) if lines[index] == "}"), len(lines))
    body = statements(lines, start + 1, end)
    lowering.head(lines[start])
    lowering.find_moves(body)
    for index, statement in body:
        lowering.line = index
        lowering.statement(statement)
    lowering.emit("}")
    return Lowered("\n".join(lowering.text) + "\n", tuple(lowering.lines))


class _Lowering(LoweredValues):
    """The state of lowering one kernel."""

    def __init__(self, text: str) -> None:
        threads = _THREADS.search(text)
        self._threads = int(threads[1]) if threads else 0
        self._shared = _SHARED.findall(text)
        super().__init__()
        self._labels: dict[str, str] = {}
        self._block = ""
        # By block: the phi nodes of its successors, as (the registers of a phi, types, the value).
        self._moves: defaultdict[str, list[tuple[Values, LlvmType, str]]] = defaultdict(list)
        self._phis: dict[str, Values] = {}

    def head(self, line: str) -> None:
        """Write the header: the kernel with its parameters, which are loaded into registers."""
        for name, size in self._shared:
            self.emit(f".extern .shared .align 16 .b8 {name}[{'' if size == '0' else size}];")
        parameters = split_operands(line[line.index("(") + 1 : line.rindex(")", 0, _end_of_parameters(line))])
        types = [typed(parameter)[0] for parameter in parameters]
        declared = [f".param .{_parameter(kind)} kernel_param_{number}" for number, kind in enumerate(types)]
        self.emit(f".visible .entry kernel({', '.join(declared)})")
        if self._threads:
            self.emit(f".reqntid {self._threads}")
        self.emit("{")
        for number, (parameter, kind) in enumerate(zip(parameters, types, strict=True)):
            name = parameter.rpartition(" ")[2]
            registers = self.define(name, kind)
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
            type_text = TYPE.match(match[2][4:].lstrip())
            if type_text is None:
                continue
            kind = type_of(type_text[1])
            given = [self.new(one) for one in kind.kinds]
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
        while flags := FLAGS.match(rest):
            rest = rest[flags.end() :]
        lower = _INSTRUCTIONS.get(opcode)
        if opcode in _ARITHMETIC:
            self._arithmetic(name, opcode, rest)
        elif lower is not None:
            lower(self, name, rest)
        elif name:
            self.unknown(name, type_of_result(opcode, rest))

    # Instructions

    def _arithmetic(self, name: str, opcode: str, rest: str) -> None:
        first, second = split_operands(rest)[:2]
        kind, a = self.operand(first)
        b = self.read(kind, second)
        self.each(name, kind, lambda one: _arithmetic_opcode(opcode, one), a, b)

    def _compare(self, name: str, rest: str) -> None:
        comparison, _, rest = rest.partition(" ")
        if comparison == "samesign":
            comparison, _, rest = rest.partition(" ")
        first, second = split_operands(rest)[:2]
        kind, a = self.operand(first)
        b = self.read(kind, second)
        condition = _COMPARED.get(comparison[:2], comparison[0]) + comparison[-1]
        sign = "u" if comparison[0] == "u" else "s"
        results = self.define(name, LlvmType(("pred",) * len(kind.kinds), 1))
        for result, one, x, y in zip(results, kind.kinds, a, b, strict=False):
            if one == "pred":
                differ = self.compute("pred", "xor.pred", x, y) if comparison == "eq" else ""
                self.emit(f"not.pred {result}, {differ};" if differ else f"xor.pred {result}, {x}, {y};")
            elif one:
                self.emit(f"setp.{condition}.{sign}{one[1:]} {result}, {x}, {y};")

    def _select(self, name: str, rest: str) -> None:
        condition, first, second = split_operands(rest)[:3]
        conditions = self.operand(condition)[1]
        kind, a = self.operand(first)
        b = self.operand(second)[1]
        if len(conditions) == 1:
            conditions = conditions * len(kind.kinds)
        self.each(name, kind, lambda one: f"selp.{one}", a, b, conditions)

    def _phi(self, name: str, rest: str) -> None:
        kind = type_of((TYPE.match(rest) or ["", "float"])[1])
        registers = self.define(name, kind)
        for register, given, one in zip(registers, self._phis[name], kind.kinds, strict=True):
            if one:
                self.emit(f"mov.{one} {register}, {given};")

    def _extend(self, name: str, rest: str, sign: str) -> None:
        source, _, target = rest.partition(" to ")
        kind, values = self.operand(source)
        result = type_of(target)
        bits, from_bits = result.size * 8, kind.size * 8

        def opcode(one: str) -> str:
            return f"cvt.{sign}{bits}.{sign}{from_bits}"

        if kind.kinds[0] == "pred":
            ones = ["-1" if sign == "s" else "1"] * len(values)
            self.each(name, result, lambda one: f"selp.{one}", ones, ["0"] * len(values), values)
        else:
            self.each(name, result, opcode if all(kind.kinds) else lambda one: "fma.rn.f32", values)

    def _truncate(self, name: str, rest: str) -> None:
        source, _, target = rest.partition(" to ")
        kind, values = self.operand(source)
        result = type_of(target)
        if not all(kind.kinds):
            self.unknown(name, result)
        elif result.kinds[0] == "pred":
            one = kind.kinds[0]
            low = [self.compute(one, f"and.{one}", value, "1") for value in values]
            self.each(name, result, lambda _: f"setp.ne.s{one[1:]}", low, ["0"] * len(low))
        else:
            self.each(name, result, lambda _: f"cvt.u{result.size * 8}.u{kind.size * 8}", values)

    def _pointer(self, name: str, rest: str) -> None:
        operands = split_operands(rest)
        kind = typed(operands[1])[0]
        if len(kind.kinds) != 1:
            self.unknown(name, kind)
            return
        self.rename(name, [self.address(rest)], kind)

    # Memory

    def _load(self, name: str, rest: str) -> None:
        operands = split_operands(rest)
        result = type_of(operands[0])
        pointer, address = self.operand(operands[1])
        self.access("ld", SPACES.get(pointer.space, "global"), address[0], result, self.define(name, result))

    def _store(self, _: str, rest: str) -> None:
        operands = split_operands(rest)
        kind, values = self.operand(operands[0])
        pointer, address = self.operand(operands[1])
        self.access("st", SPACES.get(pointer.space, "global"), address[0], kind, values)

    def _atomic(self, name: str, rest: str) -> None:
        operation, _, rest = rest.partition(" ")
        operands = split_operands(rest)
        pointer, address = self.operand(operands[0])
        kind, values = self.operand(operands[1])
        self.atomic(name, operation, SPACES.get(pointer.space, "global"), address[0], kind, values)

    def _exchange(self, name: str, rest: str) -> None:
        operands = split_operands(rest)
        pointer, address = self.operand(operands[0])
        kind, values = self.operand(operands[2])
        space = SPACES.get(pointer.space, "global")
        self._values[name] = [self.new(kind.kinds[0]), self.new("pred")]
        self.atomic("", "cmpxchg", space, address[0], kind, values)

    # Control flow

    def _terminator(self, opcode: str, rest: str) -> None:
        for given, kind, value in self._moves.get(self._block, ()):
            values = self.read(kind, value)
            for register, source, one in zip(given, values, kind.kinds, strict=False):
                if one:
                    self.emit(f"mov.{one} {register}, {source};")
        labels = [self._labels.get(name.strip('"'), "$L__?") for name in _BRANCHED.findall(rest)]
        if opcode in ("ret", "unreachable"):
            self.emit("ret;" if opcode == "ret" else "trap;")
        elif opcode == "switch":
            kind, number = self.operand(split_operands(rest.partition("[")[0])[0])
            cases = re.findall(r"i\d+ (-?\d+), label", rest.partition("[")[2])
            for case, label in zip(cases, labels[1:], strict=False):
                chosen = self.compute("pred", f"setp.eq.s{kind.kinds[0][1:]}", number[0], case)
                self.emit(f"@{chosen} bra {label};")
            self.emit(f"bra.uni {labels[0]};")
        elif len(labels) == 2:
            condition = self.read(type_of("i1"), typed(split_operands(rest)[0])[1])[0]
            if condition in ("0", "1"):
                condition = self.compute("pred", "mov.pred", condition)
            self.emit(f"@{condition} bra {labels[0]};")
            self.emit(f"bra.uni {labels[1]};")
        else:
            self.emit(f"bra.uni {labels[0] if labels else '$L__?'};")

    # Calls

    def _call(self, name: str, code: str) -> None:
        match = _CALL.match(code)
        if match is None:
            if name:
                self.unknown(name, type_of_result("call", code))
            return
        callee, operands = match[1], split_operands(match[2])
        if callee.startswith(_MATRIX):
            self.define(name, type_of_result("call", code))
            self.emit(f"{_matrix_opcode(callee, operands)} %f0;")
            return
        for prefix, lower in _CALLS.items():
            if callee.startswith(prefix):
                lower(self, name, callee, operands)
                return
        if name:
            kind = type_of_result("call", code)
            registers = self.define(name, kind)
            special = any(word in callee for word in ("exp2", "rcp", "sqrt", "log", "sin", "cos"))
            self.emit(f"{'ex2.approx.f32' if special else 'fma.rn.f32'} {registers[0]};")

    def _work_item(self, name: str, callee: str, _: Sequence[str]) -> None:
        axis = callee[-1]
        self.rename(name, [f"%{'tid' if 'workitem' in callee else 'ctaid'}.{axis}"], type_of("i32"))

    def _wave(self, name: str, _: str, __: Sequence[str]) -> None:
        self.rename(name, ["%warpid"], type_of("i32"))

    def _lane(self, name: str, callee: str, operands: Sequence[str]) -> None:
        """Read the value of another lane: the first, one of a constant number, or one by its address."""
        value, by = operands[0], "0"
        if "readlane" in callee:
            by = self.operand(operands[1])[1][0]
        elif "bpermute" in callee:
            value = operands[1]
            by = self.compute("b32", "shr.u32", self.operand(operands[0])[1][0], "2")
        kind, values = self.operand(value)
        if kind.kinds != ("b32",):
            self.unknown(name, kind)
            return
        result = self.define(name, kind)[0]
        self.emit(f"shfl.sync.idx.b32 {result}|%p0, {values[0]}, {by}, 31, -1;")

    def _ballot(self, name: str, callee: str, operands: Sequence[str]) -> None:
        kind = type_of_suffix(callee)
        self.each(name, kind, lambda one: f"vote.sync.ballot.{one}", self.operand(operands[0])[1], ["-1"])

    def _lane_number(self, name: str, callee: str, operands: Sequence[str]) -> None:
        """Count the lanes below this one: in the low or the high half of a wave."""
        added = self.operand(operands[1])[1][0]
        bounded = "min.s32" if ".lo" in callee else "max.s32"
        below = self.compute("b32", bounded, "%laneid", "32")
        if ".hi" in callee:
            below = self.compute("b32", "sub.s32", below, "32")
        self.each(name, type_of("i32"), lambda _: "add.s32", [below], [added])

    def _resource(self, name: str, _: str, operands: Sequence[str]) -> None:
        """Keep the address and the size of a buffer."""
        base, size = self.operand(operands[0])[1][0], self.operand(operands[2])[1][0]
        self.rename(name, [base, size], type_of("ptr addrspace(8)"))

    def _choose(self, name: str, callee: str, operands: Sequence[str]) -> None:
        opcode = next(value for prefix, value in _CHOICES.items() if callee.startswith(prefix))
        kind, first = self.operand(operands[0])
        others = [] if "abs" in callee else [self.operand(operands[1])[1]]
        self.each(name, kind, lambda one: f"{opcode}{one[1:]}", first, *others)

    def _funnel(self, name: str, callee: str, operands: Sequence[str]) -> None:
        kind, high = self.operand(operands[0])
        low, by = self.operand(operands[1])[1], self.operand(operands[2])[1]
        if set(kind.kinds) == {"b32"}:
            direction = "l" if "fshl" in callee else "r"
            self.each(name, kind, lambda _: f"shf.{direction}.wrap.b32", low, high, by)
        else:
            self.unknown(name, kind)

    def _place(self, buffer: Values, offset: str, uniform: str) -> tuple[str, str]:
        """Return the address of a buffer access and the guard that its bounds are."""
        inside = self.compute("pred", "setp.lt.u32", offset, buffer[1] if len(buffer) > 1 else "-1")
        wide = self.compute("b64", "cvt.u64.u32", offset)
        address = self.compute("b64", "add.s64", buffer[0], wide)
        if uniform != "0":
            further = self.compute("b64", "cvt.u64.u32", uniform)
            address = self.compute("b64", "add.s64", address, further)
        return address, inside

    def _buffer_load(self, name: str, callee: str, operands: Sequence[str]) -> None:
        """Lower a load of a buffer, to registers or to LDS."""
        if ".lds" in callee:
            self._load_to_shared(operands, buffer=True)
            return
        kind = type_of_suffix(callee)
        buffer, offset, uniform = (self.operand(operand)[1] for operand in operands[:3])
        address, inside = self._place(buffer, offset[0], uniform[0])
        self.access("ld", "global", address, kind, self.define(name, kind), f"@{inside} ")

    def _buffer_store(self, _: str, __: str, operands: Sequence[str]) -> None:
        kind, values = self.operand(operands[0])
        buffer, offset, uniform = (self.operand(operand)[1] for operand in operands[1:4])
        address, inside = self._place(buffer, offset[0], uniform[0])
        self.access("st", "global", address, kind, values, f"@{inside} ")

    def _buffer_atomic(self, name: str, callee: str, operands: Sequence[str]) -> None:
        operation = callee.split(".atomic.")[1].partition(".")[0]
        kind, values = self.operand(operands[0])
        at = 2 if operation == "cmpswap" else 1
        buffer, offset, uniform = (self.operand(operand)[1] for operand in operands[at : at + 3])
        address, inside = self._place(buffer, offset[0], uniform[0])
        self.atomic(name, operation, "global", address, kind, values, f"@{inside} ")

    def _global_to_shared(self, _: str, __: str, operands: Sequence[str]) -> None:
        self._load_to_shared(operands, buffer=False)

    def _load_to_shared(self, operands: Sequence[str], *, buffer: bool) -> None:
        """Lower a load to LDS: lane n writes n times its size after an address of the whole wave."""
        source, target = (self.operand(operand)[1] for operand in operands[:2])
        width = element_number(operands[2]) or 4
        place = self.compute("b32", "mad.lo.s32", "%laneid", str(width), target[0])
        size = str(width)
        address = source[0]
        if buffer:
            offset, uniform = (self.operand(operand)[1] for operand in operands[3:5])
            address, inside = self._place(source, offset[0], uniform[0])
            size = self.compute("b32", "selp.b32", size, "0", inside)
        self.emit(f"cp.async.ca.shared.global [{place}], [{address}], {width}, {size};")

    def _read_transposed(self, name: str, callee: str, operands: Sequence[str]) -> None:
        kind = type_of_suffix(callee)
        self.access("ld", "shared", self.operand(operands[0])[1][0], kind, self.define(name, kind))

    def _barrier(self, _: str, __: str, ___: Sequence[str]) -> None:
        self.emit("bar.sync 0;")

    def _nothing(self, _: str, __: str, ___: Sequence[str]) -> None:
        """Lower what has no effect on counts."""


_BRANCHED = re.compile(r'label %("[^"]*"|[-\w.$]+)')
_Lower = Callable[[_Lowering, str, str], None]
_INSTRUCTIONS: Mapping[str, _Lower] = {
    "icmp": _Lowering._compare, "select": _Lowering._select, "phi": _Lowering._phi,
    "zext": lambda lowering, name, rest: lowering._extend(name, rest, "u"),
    "sext": lambda lowering, name, rest: lowering._extend(name, rest, "s"), "trunc": _Lowering._truncate,
    "bitcast": _Lowering.cast, "ptrtoint": _Lowering.cast, "inttoptr": _Lowering.cast,
    "addrspacecast": _Lowering.cast, "freeze": _Lowering.freeze, "getelementptr": _Lowering._pointer,
    "extractelement": _Lowering.extract, "extractvalue": _Lowering.extract,
    "insertelement": _Lowering.insert, "insertvalue": _Lowering.insert, "shufflevector": _Lowering.shuffle,
    "load": _Lowering._load, "store": _Lowering._store, "atomicrmw": _Lowering._atomic,
    "cmpxchg": _Lowering._exchange,
}  # fmt: skip
_CALLS: Mapping[str, Callable[[_Lowering, str, str, Sequence[str]], None]] = {
    "llvm.amdgcn.workitem.id": _Lowering._work_item, "llvm.amdgcn.workgroup.id": _Lowering._work_item,
    "llvm.amdgcn.wave.id": _Lowering._wave, "llvm.amdgcn.readfirstlane": _Lowering._lane,
    "llvm.amdgcn.readlane": _Lowering._lane, "llvm.amdgcn.ds.bpermute": _Lowering._lane,
    "llvm.amdgcn.ballot": _Lowering._ballot, "llvm.amdgcn.mbcnt": _Lowering._lane_number,
    "llvm.amdgcn.make.buffer.rsrc": _Lowering._resource,
    "llvm.amdgcn.raw.ptr.buffer.load": _Lowering._buffer_load,
    "llvm.amdgcn.raw.ptr.buffer.store": _Lowering._buffer_store,
    "llvm.amdgcn.raw.ptr.buffer.atomic": _Lowering._buffer_atomic,
    "llvm.amdgcn.global.load.lds": _Lowering._global_to_shared,
    "llvm.amdgcn.global.load.async.lds": _Lowering._global_to_shared,
    "llvm.amdgcn.load.to.lds": _Lowering._global_to_shared,
    "llvm.amdgcn.ds.read.tr": _Lowering._read_transposed,
    "llvm.amdgcn.ds.load.tr": _Lowering._read_transposed, "llvm.amdgcn.s.barrier": _Lowering._barrier,
    "llvm.amdgcn.sched": _Lowering._nothing, "llvm.amdgcn.iglp": _Lowering._nothing,
    "llvm.amdgcn.s.": _Lowering._nothing, "llvm.amdgcn.asyncmark": _Lowering._nothing,
    "llvm.amdgcn.wait": _Lowering._nothing, "llvm.assume": _Lowering._nothing,
    "llvm.fsh": _Lowering._funnel, **dict.fromkeys(_CHOICES, _Lowering._choose),
}  # fmt: skip


def _end_of_parameters(line: str) -> int:
    depth = 0
    for index in range(line.index("("), len(line)):
        depth += {"(": 1, ")": -1}.get(line[index], 0)
        if not depth:
            return index + 1
    return len(line)


def _parameter(kind: LlvmType) -> str:
    """Return the type of a parameter as PTX has it."""
    if not kind.kinds[0]:
        return f"f{kind.size * 8}"
    return "u8" if kind.kinds[0] == "pred" else f"u{kind.size * 8}"


def _arithmetic_opcode(opcode: str, kind: str) -> str:
    name = _ARITHMETIC[opcode]
    return f"{name.partition('.')[0]}.pred" if kind == "pred" else f"{name}{kind[1:]}"


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
