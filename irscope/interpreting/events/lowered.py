"""Checks the barriers between warps that the compiler inserted: in PTX and, for AMD, in LLVM IR.

All threads of a block are executed, as far as their integers are known: each access of shared memory has its
addresses. What one warp wrote, another must not read before a barrier of the block, nor overwrite what
another has read. Loops run a few times. What an asynchronous copy wrote counts as written when it is waited
for.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.events.decoding import LoweredInstruction, decode_llvm, decode_ptx
from irscope.interpreting.events.hazards import NO_BARRIER, Hazard
from irscope.interpreting.stage_program import Op
from irscope.languages.document import Document
from irscope.targets import CUDA

# A register of all threads; None if it depends on data.
_Value = NDArray[np.int64]
_Mask = NDArray[np.bool_]

# What integer arguments are: large enough for loops to come back to their buffers, or small enough to end.
_ARGUMENTS = (256, 64)
# Instructions; iterations of one loop after another; iterations of a loop around others.
_MOST_STEPS, _MOST_VISITS, _MOST_TURNS = 12_000, 4, 40
_MOST_SHARED = 1 << 18
_MANY = -2
_LANES = {"x1": 8, "x2": 16, "x4": 32}

_NUMBER = re.compile(r"-?(?:\d+|0[xX][0-9a-fA-F]+)U?")
_SYMBOLS = ("global_smem",)


def check_barriers(document: Document, language: str) -> tuple[Hazard, ...]:
    """Return the accesses of shared memory that no barrier orders, in PTX or in LLVM IR for AMD.

    Never raises; of a kernel whose warps are specialized, nothing is said.
    """
    text = document.text
    is_ptx = language == CUDA.assembly
    threads = re.search(r"\.(?:req|max)ntid (\d+)" if is_ptx else r'flat-work-group-size"="\d+,(\d+)', text)
    if threads is None or re.search(
        r"\bbar(?:rier)?\.sync\s+[1-9%]|cp\.async\.mbarrier|s\.barrier\.init", text
    ):
        return ()
    warp = 64 if not is_ptx and '"target-cpu"="gfx9' in text else 32
    code = decode_ptx(document) if is_ptx else decode_llvm(document)
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

    def __init__(
        self, document: Document, code: list[LoweredInstruction], threads: int, warp: int, number: int
    ) -> None:
        self._sources: dict[str, _Value] = {
            "thread": np.arange(threads),
            "warp": np.arange(threads) // warp,
            "elect": (np.arange(threads) % warp == 0).astype(np.int64),
            "number": np.array(number),
        }
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
        """Let threads wait at a barrier; all go on when the last of those that can come is there."""
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

    def _jumping(self, instruction: LoweredInstruction, mask: _Mask, place: int) -> _Mask:
        """Return who jumps to the first target. A branch that depends on data leaves a loop, or goes on."""
        guard = self.registers.get(instruction.guard) if instruction.guard else None
        if guard is not None:
            jumping: _Mask = mask & ((guard != 0) != instruction.negated)
            return jumping
        first, *others = instruction.targets
        stays = bool(instruction.guard) and (first <= place or not others)
        return np.zeros_like(mask) if stays else mask

    def _guarded(self, instruction: LoweredInstruction, mask: _Mask) -> _Mask:
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

    def _execute(self, instruction: LoweredInstruction, mask: _Mask) -> None:
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

    def _result(self, instruction: LoweredInstruction) -> _Value | None:
        kind = instruction.kind
        if kind in self._sources:
            return self._sources[kind]
        if kind == "phi":
            return self._phi(instruction)
        values = [self.value(item) for item in instruction.arguments]
        known = [item for item in values if item is not None]
        if len(known) < len(values):
            return None
        if kind == "first lane":
            lanes = np.broadcast_to(known[0], self.thread.shape)
            first: _Value = np.take(lanes, self.warps * self.warp_size)
            return first
        if kind == "address":
            known.append(np.array(instruction.size))
        return np.asarray(_OPERATIONS[kind](*known), np.int64)

    def _phi(self, instruction: LoweredInstruction) -> _Value | None:
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

    def _access(self, instruction: LoweredInstruction, mask: _Mask) -> None:
        parts = [self.value(item) for item in instruction.arguments]
        known = [part for part in parts if part is not None]
        if instruction.kind == "sample":
            # The descriptors of matrices: the first row of each is looked at.
            starts = [(part & 0x3FFF) << 4 for part in known]
        else:
            starts = [np.sum(np.broadcast_arrays(*known), axis=0)] if len(known) == len(parts) else []
        for start in starts:
            self._access_at(instruction, mask, np.asarray(start))

    def _access_at(self, instruction: LoweredInstruction, mask: _Mask, start: _Value) -> None:
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
                self._report(
                    instruction, int(self.read_line[where[clash][0]]), int(where[clash].min()), False
                )
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

    def _report(self, instruction: LoweredInstruction, other: int, byte: int, reads: bool) -> None:
        step, earlier = self._step(instruction.line), self._step(other)
        buffer = f"shared memory at byte {byte:,}"
        use = "read" if reads else "overwritten"
        place = f"is {use} in line {step.line + 1} of the stage"
        if reads and self.flying[byte]:
            message = f"{buffer} {place} while the copy of line {earlier.line + 1} may still be in flight"
            remedy = "wait for the copy, then let all warps wait for a barrier"
        else:
            verb = "writes" if reads else "reads"
            message = (
                f"{buffer}, which another warp {verb} in line {earlier.line + 1}, {place} without a "
                f"barrier between"
            )
            remedy = f"let all warps wait for a barrier between lines {earlier.line + 1} and {step.line + 1}"
        key = step.source_line, earlier.source_line
        self.hazards.setdefault(key, Hazard(NO_BARRIER, step, message, remedy, buffer, other=earlier))

    def _step(self, line: int) -> Op:
        operation, location = self.document.operation_at(line), self.document.location_at(line)
        opcode = operation.opcode if operation else ""
        source_line = location.outermost.line if location else 0
        text = self.document.lines[line].strip()
        return Op(opcode, text, (), (), (), (), line, source_line, location=location)


_OPERATIONS: dict[str, Callable[..., _Value]] = {
    "move": np.positive,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": lambda a, b: a // np.where(b == 0, 1, b),
    "rem": lambda a, b: a % np.where(b == 0, 1, b),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": lambda a: 1 - a,
    "neg": np.negative,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "min": np.minimum,
    "max": np.maximum,
    "bfe": lambda a, b, c: (a >> b) % (1 << int(c)),
    "multiply-add": lambda a, b, c: a * b + c,
    "address": lambda a, b, c: a + b * c,
    "select": lambda a, b, c: np.asarray(np.where(a != 0, b, c)),
    "pack": lambda a, b: (a & 0xFFFFFFFF) | (b << 32),
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
