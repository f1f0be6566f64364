"""Checks the barriers between warps that the compiler inserted: in PTX and, for AMD, in LLVM IR.

All threads of a block are executed, as far as their integers are known: each access of shared memory has its
addresses. What one warp wrote, another must not read before a barrier of the block, nor overwrite what another
has read. Loops run a few times. What an asynchronous copy wrote counts as written when it is waited for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.events.order import Hazard
from irscope.interpreting.stage_program import Op
from irscope.languages.document import Document

# A register of all threads; None if it depends on data.
_Value = NDArray[np.int64]
_Mask = NDArray[np.bool_]

# What integer arguments are: large enough for a loop to come back to its buffers, or small enough to end soon.
_ARGUMENTS = (256, 64)
# Instructions; iterations of one loop after another; iterations of a loop around others.
_MOST_STEPS, _MOST_VISITS, _MOST_TURNS = 12_000, 4, 40
_MOST_SHARED = 1 << 18
_MANY = -2
_MATRIX_ROW = 16
_LANES = {"x1": 8, "x2": 16, "x4": 32}

_GLOBAL = r"(?:getelementptr [\w ]*\(i8, ptr addrspace\(3\) @[\w.$]+, i\d+ (-?\d+)\)|@[\w.$]+)"
_PTX = re.compile(r"\s*(?:@(!?)(%\w+)\s+)?([a-z_][\w.:]*)\s*(.*?);")
_PTX_ARGUMENT = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+")
_LLVM = re.compile(r"\s*(?:(%[\w.\"-]+) = )?(?:tail |musttail )?([a-z_]+)\b(.*)")
_LLVM_VALUE = re.compile(r"%[\w.\"-]+|" + _GLOBAL + r"|(?<![\w.(])-?\d+(?![\w.])|\btrue\b|\bfalse\b")
_WIDTH = re.compile(r"<(\d+) x (\w+)>|\b(i\d+|half|bfloat|float|double|ptr)\b")
_NUMBER = re.compile(r"-?(?:\d+|0[xX][0-9a-fA-F]+)U?")
_SYMBOLS = ("global_smem",)
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}


@dataclass(slots=True)
class _Instruction:
    """`kind` says what to do, `name` is how the text calls it; `arguments` are registers and numbers."""

    kind: str
    name: str
    result: str
    arguments: list[str]
    line: int
    guard: str = ""
    negated: bool = False
    size: int = 0
    targets: list[int] = field(default_factory=list)


def check_barriers(document: Document, language: str) -> tuple[Hazard, ...]:
    """Return the accesses of shared memory that no barrier orders, in PTX or in LLVM IR for AMD.

    Never raises; of a kernel whose warps are specialized, nothing is said.
    """
    text = document.text
    is_ptx = language == "ptx"
    threads = re.search(r"\.(?:req|max)ntid (\d+)" if is_ptx else r'flat-work-group-size"="\d+,(\d+)', text)
    if threads is None or re.search(r"\bbar(?:rier)?\.sync\s+[1-9%]|cp\.async\.mbarrier|s\.barrier\.init", text):
        return ()
    warp = 64 if not is_ptx and '"target-cpu"="gfx9' in text else 32
    code = _decode_ptx(document) if is_ptx else _decode_llvm(document)
    hazards: dict[tuple[int, int], Hazard] = {}
    for number in _ARGUMENTS:
        machine = _Block(document, code, int(threads[1]), warp, number)
        try:
            ended = machine.run()
        except (ValueError, IndexError, KeyError, TypeError, OverflowError):
            break
        hazards.update(machine.hazards)
        if ended:
            break
    return tuple(hazards.values())


class _Block:
    """The threads of a block, which execute in groups of those that are at the same instruction."""

    def __init__(self, document: Document, code: list[_Instruction], threads: int, warp: int, number: int) -> None:
        self.number = number
        self.document = document
        self.code = code
        self.registers: dict[str, _Value] = {}
        self._before: dict[str, _Value] = {}
        self._live = np.ones(threads, bool)
        self._parked: list[tuple[int, _Mask]] = []
        self._waiting: dict[int, _Mask] = {}
        self.thread = np.arange(threads, dtype=np.int64)
        self.warps = self.thread // warp
        self.warp_size = warp
        self.came_from = np.zeros(threads, np.int64)
        self.hazards: dict[tuple[int, int], Hazard] = {}
        # By byte of shared memory: when it was written and read last, by which warp and which instruction.
        self.epoch = 1
        self.written, self.writer, self.write_line = (np.zeros(_MOST_SHARED, np.int32) for _ in range(3))
        self.read, self.reader, self.read_line = (np.zeros(_MOST_SHARED, np.int32) for _ in range(3))
        self.flying = np.zeros(_MOST_SHARED, bool)
        self.open: list[tuple[_Value, _Value, int]] = []
        self.groups: list[list[tuple[_Value, _Value, int]]] = []
        self.stores: list[tuple[_Value, _Value, int]] = []

    def run(self) -> bool:
        """Execute the code, the threads that are furthest behind first; return True if it came to its end."""
        self._waiting = {0: np.ones(len(self.thread), bool)}
        visits: dict[int, int] = {}
        for _ in range(_MOST_STEPS):
            if not self._waiting:
                return True
            place = min(self._waiting)
            mask = self._waiting.pop(place)
            if place >= len(self.code):
                continue
            instruction = self.code[place]
            if instruction.kind == "barrier":
                self._arrive(place, mask)
                continue
            if instruction.kind == "exit":
                ended = self._guarded(instruction, mask)
                self._live &= ~ended
                mask = mask & ~ended
            elif instruction.kind == "branch":
                jumping = self._jumping(instruction, mask, place)
                first, *others = instruction.targets
                if first <= place and jumping.any():
                    visits[place] = visits.get(place, 0) + 1
                    if visits[place] > _MOST_TURNS:
                        return False
                    if instruction.guard:
                        jumping = jumping & (visits[place] <= _MOST_VISITS)
                self._go(place, first, jumping)
                self._go(place, others[0] if others else place + 1, mask & ~jumping)
                continue
            else:
                self._execute(instruction, mask)
            self._wait_at(place + 1, mask)
        return False

    def _go(self, place: int, target: int, mask: _Mask) -> None:
        self.came_from[mask] = place
        self._wait_at(target, mask)

    def _arrive(self, place: int, mask: _Mask) -> None:
        """Let threads wait at a barrier; all go on when the last of them, or of those that can come, is there."""
        self._parked.append((place, mask))
        here = np.logical_or.reduce([parked for _, parked in self._parked])
        if self._waiting and (self._live & ~here).any():
            return
        self.epoch += 1
        for parked_place, parked in self._parked:
            self._wait_at(parked_place + 1, parked)
        self._parked.clear()

    def _wait_at(self, place: int, mask: _Mask) -> None:
        if mask.any():
            self._waiting[place] = self._waiting[place] | mask if place in self._waiting else mask

    def _jumping(self, instruction: _Instruction, mask: _Mask, place: int) -> _Mask:
        """Return who jumps to the first target. A branch that depends on data leaves a loop, or goes on."""
        guard = self.registers.get(instruction.guard) if instruction.guard else None
        if guard is not None:
            return mask & ((guard != 0) != instruction.negated)
        first, *others = instruction.targets
        stays = instruction.guard and (first <= place or not others)
        return mask & (not stays)

    def _guarded(self, instruction: _Instruction, mask: _Mask) -> _Mask:
        if not instruction.guard:
            return mask
        guard = self.registers.get(instruction.guard)
        return mask if guard is None else mask & ((guard != 0) != instruction.negated)

    def value(self, text: str) -> _Value | None:
        """Return a register or a number, one per thread or one for all."""
        if text.startswith("%"):
            return self.registers.get(text)
        if text in ("true", "false"):
            return np.array(int(text == "true"))
        if _NUMBER.fullmatch(text):
            return np.array(int(text.removesuffix("U"), 0))
        if text.startswith(("@", "getelementptr")) or text in _SYMBOLS:
            offset = re.search(r"i\d+ (-?\d+)\)$", text)
            return np.array(int(offset[1]) if offset else 0)
        return None

    def _execute(self, instruction: _Instruction, mask: _Mask) -> None:
        kind = instruction.kind
        if kind == "commit":
            self.groups.append(self.open)
            self.open = []
            return
        if kind in ("wait", "wait stores"):
            self._wait(kind, instruction.size)
            return
        mask = self._guarded(instruction, mask)
        if kind in ("read", "write", "copy", "overwrite", "store", "sample"):
            self._access(instruction, mask)
            return
        result = self._result(instruction)
        if result is None:
            self.registers.pop(instruction.result, None)
        elif mask.all():
            self.registers[instruction.result] = result
        else:
            before = self.registers.get(instruction.result)
            self.registers[instruction.result] = np.where(mask, result, 0 if before is None else before)

    def _result(self, instruction: _Instruction) -> _Value | None:
        kind = instruction.kind
        if kind == "thread":
            return self.thread
        if kind == "warp":
            return self.warps
        if kind == "elect":
            return (self.thread % self.warp_size == 0).astype(np.int64)
        if kind == "number":
            return np.array(self.number)
        if kind == "phi":
            return self._phi(instruction)
        values = [self.value(item) for item in instruction.arguments]
        if kind == "first lane":
            first = values[0]
            if first is None:
                return None
            lanes = np.broadcast_to(first, self.thread.shape)
            return lanes[self.thread // self.warp_size * self.warp_size]
        if any(item is None for item in values):
            return None
        known = [item for item in values if item is not None]
        if kind in ("multiply-add", "address"):
            result = known[0] + known[1] * (instruction.size or known[2])
            return result if kind == "address" else known[0] * known[1] + known[2]
        return _OPERATIONS[kind](*known)

    def _phi(self, instruction: _Instruction) -> _Value | None:
        """Choose by where the threads come from; the phis of a block read what was before all of them."""
        if not instruction.size:
            self._before = dict(self.registers)
        result = np.zeros(len(self.thread), np.int64)
        for argument, place in zip(instruction.arguments, instruction.targets, strict=True):
            coming = self.came_from == place
            if coming.any():
                value = self._before.get(argument) if argument.startswith("%") else self.value(argument)
                if value is None:
                    return None
                result = np.where(coming, value, result)
        return result

    def _wait(self, kind: str, left: int) -> None:
        if kind == "wait stores":
            for where, warps, line in self.stores:
                self._mark_read(where, warps, line)
            self.stores.clear()
            return
        ended = self.groups[: max(0, len(self.groups) - left)]
        for group in ended:
            for where, warps, line in group:
                self.flying[where] = False
                self._mark_written(where, warps, line)
        del self.groups[: len(ended)]

    def _access(self, instruction: _Instruction, mask: _Mask) -> None:
        if instruction.kind == "sample":
            # The descriptors of matrices: the first row of each is looked at.
            parts = [self.value(item) for item in instruction.arguments]
            starts = [(part & 0x3FFF) << 4 for part in parts if part is not None]
        else:
            parts = [self.value(item) for item in instruction.arguments]
            starts = [] if any(part is None for part in parts) else [sum(part for part in parts if part is not None)]
        for start in starts:
            self._access_at(instruction, mask, np.asarray(start))

    def _access_at(self, instruction: _Instruction, mask: _Mask, start: _Value) -> None:
        size = instruction.size
        if instruction.name.startswith(("ldmatrix", "stmatrix")):
            used = next((lanes for count, lanes in _LANES.items() if f".{count}" in instruction.name), 32)
            mask = mask & (self.thread % self.warp_size < used)
        if "buffer.load.async.lds" in instruction.name:
            start = start + self.thread % self.warp_size * size
        starts = np.broadcast_to(start, self.thread.shape)[mask]
        where = (starts[:, None] + np.arange(size)).reshape(-1)
        warps = np.repeat(self.warps[mask], size)
        inside = (where >= 0) & (where < _MOST_SHARED)
        where, warps = where[inside], warps[inside]
        kind, line = instruction.kind, instruction.line
        if kind in ("write", "copy", "overwrite"):
            clash = (self.read[where] == self.epoch) & (self.reader[where] != warps)
            if clash.any():
                self._report(instruction, int(self.read_line[where[clash][0]]), int(where[clash].min()), False)
        else:
            clash = ((self.written[where] == self.epoch) & (self.writer[where] != warps)) | self.flying[where]
            if clash.any():
                first = where[clash][0]
                self._report(instruction, int(self.write_line[first]), int(where[clash].min()), True)
        if kind == "write":
            self._mark_written(where, warps, line)
        elif kind == "copy":
            self.flying[where] = True
            self.write_line[where] = line
            self.open.append((where, warps, line))
            if "async.to.lds" in instruction.name:
                # The hardware counts these one by one.
                self.groups.append(self.open)
                self.open = []
        elif kind == "read":
            self._mark_read(where, warps, line)
        elif kind == "store":
            self.stores.append((where, warps, line))

    def _mark_written(self, where: _Value, warps: _Value, line: int) -> None:
        self.written[where] = self.epoch
        self.writer[where] = warps
        self.write_line[where] = line

    def _mark_read(self, where: _Value, warps: _Value, line: int) -> None:
        again = (self.read[where] == self.epoch) & (self.reader[where] != warps)
        self.read[where] = self.epoch
        self.reader[where] = warps
        self.reader[where[again]] = _MANY
        self.read_line[where] = line

    def _report(self, instruction: _Instruction, other: int, byte: int, reads: bool) -> None:
        step, earlier = self._step(instruction.line), self._step(other)
        is_copy = bool(self.flying[byte]) and reads
        if is_copy:
            message = (
                f"shared memory at byte {byte:,} is read in line {step.line + 1} of the stage while the copy of "
                f"line {earlier.line + 1} may still be in flight"
            )
            remedy = "wait for the copy, then let all warps wait for a barrier"
        elif reads:
            message = (
                f"shared memory at byte {byte:,}, which another warp writes in line {earlier.line + 1} of the stage, "
                f"is read in line {step.line + 1} without a barrier between"
            )
            remedy = f"let all warps wait for a barrier after line {earlier.line + 1}"
        else:
            message = (
                f"shared memory at byte {byte:,}, which another warp reads in line {earlier.line + 1} of the stage, "
                f"is overwritten in line {step.line + 1} without a barrier between"
            )
            remedy = f"let all warps wait for a barrier before line {step.line + 1}"
        key = step.source_line, earlier.source_line
        buffer = f"shared memory at byte {byte:,}"
        self.hazards.setdefault(key, Hazard("IRS319", step, message, remedy, buffer, other=earlier))

    def _step(self, line: int) -> Op:
        operation, location = self.document.operation_at(line), self.document.location_at(line)
        opcode = operation.opcode if operation else ""
        source_line = location.outermost.line if location else 0
        text = self.document.lines[line].strip()
        return Op(opcode, text, (), (), (), (), line, source_line, location=location)


_OPERATIONS: dict[str, Callable[..., _Value]] = {
    "move": lambda a: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // np.where(b == 0, 1, b),
    "rem": lambda a, b: a % np.where(b == 0, 1, b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: 1 - a,
    "neg": lambda a: -a,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "min": np.minimum,
    "max": np.maximum,
    "bfe": lambda a, b, c: (a >> b) & ((1 << c) - 1),
    "select": lambda a, b, c: np.where(a != 0, b, c),
    "pack": lambda a, b: (a & 0xFFFFFFFF) | (b << 32),
    "eq": lambda a, b: (a == b).astype(np.int64),
    "ne": lambda a, b: (a != b).astype(np.int64),
    "lt": lambda a, b: (a < b).astype(np.int64),
    "le": lambda a, b: (a <= b).astype(np.int64),
    "gt": lambda a, b: (a > b).astype(np.int64),
    "ge": lambda a, b: (a >= b).astype(np.int64),
}
_SIMPLE = frozenset(("add", "sub", "mul", "div", "rem", "and", "or", "xor", "not", "neg", "shl", "shr", "min", "max", "bfe"))


# PTX.


def _decode_ptx(document: Document) -> list[_Instruction]:
    code: list[_Instruction] = []
    labels: dict[str, int] = {}
    for number, line in enumerate(document.lines):
        label = re.match(r"(\$L\w+):", line)
        if label:
            labels[label[1]] = len(code)
        match = _PTX.match(line)
        if match is None:
            continue
        negated, guard, name, rest = match.groups()
        instruction = _ptx_instruction(name, _PTX_ARGUMENT.findall(rest), number)
        if instruction is not None:
            instruction.guard, instruction.negated = guard or "", bool(negated)
            code.append(instruction)
    for instruction in code:
        if instruction.kind == "branch":
            instruction.targets = [labels.get(instruction.arguments[0], len(code))]
    return code


def _ptx_instruction(name: str, arguments: list[str], line: int) -> _Instruction | None:
    base, _, modifiers = name.partition(".")
    memory = _ptx_memory(name, base, arguments, line)
    if memory is not None:
        return memory
    if base in ("bra", "ret", "exit"):
        if arguments and not arguments[0].startswith("$"):
            return None  # inline assembly that waits for a barrier
        return _Instruction("branch" if base == "bra" else "exit", name, "", arguments, line)
    if not arguments or "f32" in modifiers or "f64" in modifiers or "f16" in modifiers:
        return None
    result, *rest = arguments
    kind = base
    if base == "elect":
        return _Instruction("elect", name, result.partition("|")[2], [], line)
    if base == "mov" and rest and rest[0].startswith("%tid.x"):
        return _Instruction("thread", name, result, [], line)
    if base == "mov" and rest and rest[0].startswith("{"):
        return _Instruction("pack", name, result, _PTX_ARGUMENT.findall(rest[0][1:-1]), line)
    if base == "mov" and rest and (rest[0].startswith(("%ctaid", "%nctaid", "%tid", "%clusterid"))):
        return _Instruction("move", name, result, ["0" if "nctaid" not in rest[0] else "1"], line)
    if base == "ld" and modifiers.startswith("param") and modifiers.endswith(("32", "b16")):
        return _Instruction("number", name, result, [], line)
    if base == "shfl" and ".idx." in name and rest[1:2] == ["0"]:
        return _Instruction("first lane", name, result.partition("|")[0], rest[:1], line)
    if base == "mad":
        kind = "multiply-add"
    elif base in ("mov", "cvt", "cvta"):
        kind, rest = "move", rest[:1]
    elif base == "setp":
        kind = {"lo": "lt", "hi": "gt", "ls": "le", "hs": "ge"}.get(modifiers.split(".")[0], modifiers.split(".")[0])
    elif base == "selp":
        kind, rest = "select", [rest[2], rest[0], rest[1]]
    elif base == "not" and "pred" not in modifiers:
        kind, rest = "xor", [*rest, "-1"]
    elif base not in _SIMPLE:
        return None
    return _Instruction(kind, name, result, rest, line) if kind in _OPERATIONS or kind == "multiply-add" else None


def _ptx_memory(name: str, base: str, arguments: list[str], line: int) -> _Instruction | None:
    addresses = [item for item in arguments if item.startswith("[")]
    if base in ("bar", "barrier") and not name.startswith("bar.warp"):
        return _Instruction("barrier", name, "", [], line)
    if name.startswith("cp.async.commit_group"):
        return _Instruction("commit", name, "", [], line)
    if name.startswith(("cp.async.wait", "cp.async.bulk.wait_group")):
        left = int(arguments[0], 0) if arguments else 0
        return _Instruction("wait stores" if "bulk" in name else "wait", name, "", [], line, size=left)
    if name.startswith(("wgmma.mma_async", "tcgen05.mma")):
        descriptors = [item for item in arguments if item.startswith("%rd")]
        return _Instruction("sample", name, "", descriptors, line, size=_MATRIX_ROW)
    if not addresses or "shared" not in name or base in ("atom", "red"):
        return None
    if name.startswith("cp.async.bulk.tensor"):
        store = ".global.shared" in name
        return _memory("store" if store else "overwrite", name, addresses[1 if store else 0], line, 16)
    if name.startswith("cp.async."):
        sizes = [item for item in arguments if not item.startswith(("[", "%"))]
        return _memory("copy", name, addresses[0], line, int(sizes[0], 0) if sizes else 4)
    if base == "mbarrier":
        return _memory("write" if ".in" in name else "read", name, addresses[0], line, 8)
    if base in ("ldmatrix", "stmatrix"):
        return _memory("read" if base == "ldmatrix" else "write", name, addresses[0], line, _MATRIX_ROW)
    if base not in ("ld", "st"):
        return None
    width = re.search(r"\.(?:v(\d)\.)?[bfus](\d+)$", name)
    size = int(width[1] or 1) * int(width[2]) // 8 if width else 4
    return _memory("read" if base == "ld" else "write", name, addresses[0], line, size)


def _memory(kind: str, name: str, address: str, line: int, size: int) -> _Instruction:
    parts = [part.strip() for part in address[1:-1].replace("-", "+-").split("+")]
    return _Instruction(kind, name, "", [part for part in parts if part], line, size=size)


# LLVM IR.

_LLVM_NAMES = {
    "lshr": "shr", "ashr": "shr", "udiv": "div", "sdiv": "div", "urem": "rem", "srem": "rem",
    **dict.fromkeys(("zext", "sext", "trunc", "freeze", "bitcast", "ptrtoint", "inttoptr", "addrspacecast"), "move"),
    **{name: name for name in ("add", "sub", "mul", "and", "or", "xor", "shl", "select")},
}  # fmt: skip
_INTRINSICS = {"umin": "min", "smin": "min", "umax": "max", "smax": "max"}


def _decode_llvm(document: Document) -> list[_Instruction]:
    code: list[_Instruction] = []
    labels: dict[str, int] = {}
    ends: dict[str, int] = {}
    block = ""
    for number, line in enumerate(document.lines):
        label = re.match(r"([\w.\"-]+):", line)
        if label:
            block = f"%{label[1]}"
            labels[block] = len(code)
        match = _LLVM.match(line)
        if match is None or not line.startswith(" "):
            if line.startswith("define"):
                code += [
                    _Instruction("number", "argument", name, [], number)
                    for name in re.findall(r"i(?:16|32|64) (?:\w+ )*(%[\w.]+)", line)
                ]
            continue
        result, name, rest = match.groups()
        instruction = _llvm_instruction(name, result or "", re.sub(r", !.*| #\d+.*", "", rest), number)
        if instruction is not None:
            if name == "phi" and code and code[-1].kind == "phi":
                instruction.size = code[-1].size + 1
            code.append(instruction)
            if name == "br":
                ends[block] = len(code) - 1
    for instruction in code:
        if instruction.kind == "branch":
            instruction.targets = [labels.get(name, len(code)) for name in instruction.arguments]
        elif instruction.kind == "phi":
            pairs = zip(instruction.arguments[::2], instruction.arguments[1::2], strict=True)
            sources = dict((label, value) for value, label in pairs)
            instruction.arguments = list(sources.values())
            instruction.targets = [ends.get(label, ends.get("", 0)) for label in sources]
    return code


def _llvm_instruction(name: str, result: str, text: str, line: int) -> _Instruction | None:
    values = [match[0] for match in _LLVM_VALUE.finditer(text)]
    if name == "br":
        targets = re.findall(r"label (%[\w.\"-]+)", text)
        return _Instruction("branch", name, "", targets, line, guard=values[0] if len(targets) > 1 else "")
    if name == "ret":
        return _Instruction("exit", name, "", [], line)
    if name == "phi":
        pairs = re.findall(r"\[ (.+?), (%[\w.\"-]+) \]", text)
        return _Instruction("phi", name, result, [item for pair in pairs for item in pair], line)
    if name == "call":
        return _llvm_call(result, text, values, line)
    if name in ("load", "store", "getelementptr"):
        return _llvm_memory(name, result, text, line)
    if name == "icmp":
        relation = text.split()[0 if text.split()[0] != "samesign" else 1]
        kind = relation if relation in ("eq", "ne") else relation[1:]
        return _Instruction(kind, name, result, values[-2:], line)
    kind = _LLVM_NAMES.get(name, "")
    return _Instruction(kind, name, result, values, line) if kind and "<" not in text else None


def _llvm_memory(name: str, result: str, text: str, line: int) -> _Instruction | None:
    kind, _, rest = text.partition("ptr addrspace(3) ")
    if not rest:
        return None
    width = _WIDTH.search(kind)
    if width is None:
        return None
    count, element = (int(width[1]), width[2]) if width[1] else (1, width[3])
    size = count * (_BYTES.get(element) or max(1, int(element[1:]) // 8))
    values = [match[0] for match in _LLVM_VALUE.finditer(rest)]
    if name == "getelementptr":
        array = re.match(r".*?\[(\d+) x i8\]", kind)
        return _Instruction("address", name, result, [values[0], values[-1]], line, size=int(array[1]) if array else size)
    return _Instruction("read" if name == "load" else "write", name, "", values[:1], line, size=size)


def _llvm_call(result: str, text: str, values: list[str], line: int) -> _Instruction | None:
    match = re.search(r"@llvm\.([\w.]+)\((.*)\)|asm sideeffect \"([^\"]*)", text)
    if match is None:
        return None
    name, arguments, assembly = match.groups()
    if assembly is not None:
        return _Instruction("barrier", "s_barrier", "", [], line) if "s_barrier" in assembly else None
    if name in ("amdgcn.s.barrier", "amdgcn.s.barrier.wait"):
        return _Instruction("barrier", name, "", [], line)
    if name == "amdgcn.workitem.id.x":
        return _Instruction("thread", name, result, [], line)
    if name == "amdgcn.wave.id":
        return _Instruction("warp", name, result, [], line)
    if name.startswith("amdgcn.workgroup.id"):
        return _Instruction("move", name, result, ["0"], line)
    operands = [item[0] for item in _LLVM_VALUE.finditer(arguments)]
    copies = _llvm_copies(name, arguments, operands, line)
    if copies is not None:
        return copies
    if name.startswith("amdgcn.readfirstlane"):
        return _Instruction("first lane", name, result, operands[:1], line)
    kind = _INTRINSICS.get(name.split(".")[0], "")
    return _Instruction(kind, name, result, operands[:2], line) if kind and result else None


def _llvm_copies(name: str, arguments: str, operands: list[str], line: int) -> _Instruction | None:
    """Return AMD's copies to shared memory, the wait for them, and its transposing loads."""
    shared = re.search(r"ptr addrspace\(3\) (?:\w+ )*?(%[\w.\"-]+|" + _GLOBAL + ")", arguments)
    if name.startswith(("amdgcn.wait.asyncmark", "amdgcn.s.wait.asynccnt")):
        return _Instruction("wait", name, "", [], line, size=int(operands[-1]))
    if name == "amdgcn.asyncmark":
        return _Instruction("commit", name, "", [], line)
    if shared is None:
        return None
    if name.startswith("amdgcn.global.load.async.to.lds"):
        return _Instruction("copy", name, "", [shared[1]], line, size=int(name.rpartition(".b")[2]) // 8)
    if "buffer.load.async.lds" in name:
        size = re.search(r"i32 (\d+)", arguments[shared.end() :])
        return _Instruction("copy", name, "", [shared[1]], line, size=int(size[1]) if size else 4)
    if name.startswith(("amdgcn.ds.read.tr", "amdgcn.ds.load.tr")):
        return _Instruction("read", name, "", [shared[1]], line, size=16 if ".b128" in name else 8)
    return None
