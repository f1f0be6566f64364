"""The instructions of a PTX kernel, with their operands, as far as a launch's counts depend on them.

    @%p1 ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [ %rd7 + 16 ];
        -> opcode "ld.global.v4.b32", guard %p1, operands "{%r1, ...}" and "[ %rd7 + 16 ]"

Most instructions of a kernel compute floating-point values, which decide neither addresses nor branches. The
slice (Weiser, Program Slicing, 1981) of a kernel are the other ones: those that the addresses and masks of
its memory accesses and the conditions of its branches depend on. Only these need to be interpreted.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from irscope.languages import llvm
from irscope.languages.control_flow import LoopTree, find_loops
from irscope.languages.document import Document, Location, Operation
from irscope.model.records import frozen

_STATEMENT = re.compile(r"\s*\{?\s*(?:@(!?)([%\w.]+)\s+)?([a-z][\w.:]*)\s*([^;]*)")
_NAME = re.compile(r"(?<![\w.$])[%$A-Za-z_][\w.$]*")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)?(?:\.align\s+\d+\s+)?)?([\w$]+)(?:\[(\d+)\])?"
)
_SHARED = re.compile(r"\.shared\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d*)\])?")
_THREADS = re.compile(r"\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_TARGETS = re.compile(r"^[ \t]*([\w$.]+):\s{0,99}\.branchtargets\s([^;]{0,99999});", re.MULTILINE)
_STORES = frozenset(["st", "red", "bar", "barrier", "bra", "brx", "ret", "exit", "cp", "stmatrix", "fence"])
# Float arithmetic and conversions from float: no address of Triton's kernels depends on their results.
_FLOAT = re.compile(r"\.(?:f16|f16x2|bf16|bf16x2|f32|f64|f32x2|tf32|e4m3|e5m2|e4m3x2|e5m2x2)\b")
_FLOAT_ONLY = frozenset(["mma", "wgmma", "ex2", "lg2", "sin", "cos", "rcp", "sqrt", "rsqrt", "tanh", "fma"])


@frozen
class Instruction:
    """One instruction: `operands` as printed, `guard` the register of its predicate ("" if it has none).

    `index` is its index in the document's operations, `results` are the registers that it writes.
    """

    index: int
    opcode: str
    parts: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""
    negated: bool = False
    results: tuple[str, ...] = ()

    @property
    def is_float(self) -> bool:
        """Return True if its results are floating-point values, or follow from such values."""
        return _opcode(self.opcode)[1]

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the registers and symbols that it reads, its guard included."""
        operands = self.operands[1:] if self.results else self.operands
        registers = [name for operand in operands for name in names(operand)]
        return (*registers, self.guard) if self.guard else tuple(registers)


def names(operand: str) -> list[str]:
    """Return the registers and symbols in an operand: `{%r1, %r2}`, `[ %rd7 + 16 ]`, `%r1|%p1`."""
    return _NAME.findall(operand)


class Parameter(NamedTuple):
    """A parameter of the kernel in PTX: its type ("b8" for a tensor descriptor), name and size in bytes."""

    type: str
    name: str
    size: int


class PtxProgram:
    """A parsed kernel: its instructions, basic blocks, loops, parameters and shared variables.

    `warp` is the threads of a warp, `banks` those of shared memory. If the PTX was made of LLVM IR,
    `llvm_text` is that, and `llvm_lines` are its lines (index from 0) by those of the PTX.
    """

    def __init__(
        self,
        document: Document,
        warp: int = 32,
        banks: int = 32,
        llvm_text: str = "",
        llvm_lines: Sequence[int] = (),
    ) -> None:
        self.document, self.source = document, "LLVM IR" if llvm_text else "PTX"
        self.warp, self.banks = warp, banks
        self._llvm, self._llvm_lines = llvm_text, llvm_lines
        self.tree: LoopTree = find_loops(document)
        lines = document.text.split("\n")
        self.instructions: Sequence[Instruction] = [
            _instruction(index, operation, lines[operation.line])
            for index, operation in enumerate(document.operations)
        ]

    def line(self, operation: int) -> int:
        """Return the line (index from 0) of an instruction in the text that people can read."""
        line = self.document.operations[operation].line
        return self._llvm_lines[line] if self._llvm else line

    def location(self, operation: int) -> Location | None:
        """Return where an instruction comes from in Python."""
        return self._located.location_at(self.line(operation))

    @cached_property
    def _located(self) -> Document:
        """Return the text that has locations, parsed when one is asked for."""
        return llvm.parse(self._llvm) if self._llvm else self.document

    @property
    def known(self) -> bool:
        """Return True if the control flow of all functions is known."""
        return not self.tree.unknown and not self.tree.graph.unknown

    @cached_property
    def _header(self) -> str:
        text = self.document.text
        start = max(text.find(".entry"), 0)
        return text[start : text.find("{", start)]

    @cached_property
    def parameters(self) -> Sequence[Parameter]:
        """Return the parameters of the kernel, in order."""
        declared = []
        for kind, name, count in _PARAMETER.findall(self._header):
            size = int(kind[1:]) // 8 if kind[1:].isdigit() else 8
            declared.append(Parameter(kind, name, size * int(count or 1)))
        return declared

    @cached_property
    def threads(self) -> int | None:
        """Return the threads of a block that the kernel requires, or None if it does not say."""
        match = _THREADS.search(self.document.text)
        return int(match[1]) * int(match[2] or 1) * int(match[3] or 1) if match else None

    @cached_property
    def shared_symbols(self) -> Mapping[str, int]:
        """Map each variable in shared memory to its address; dynamic memory follows the static one."""
        addresses, offset, dynamic = {}, 0, []
        for align, kind, name, count in _SHARED.findall(self.document.text):
            if count == "":
                dynamic.append(name)
                continue
            step = max(1, int(align or 1))
            offset = -(-offset // step) * step
            addresses[name] = offset
            size = int(kind[1:]) // 8 if kind[1:].isdigit() else 8
            offset += size * int(count)
        for name in dynamic:
            addresses[name] = -(-offset // 1024) * 1024
        return addresses

    def branch_table(self, instruction: Instruction) -> list[int]:
        """Return the blocks of an indirect branch by index, or an empty list if they are not known."""
        name = instruction.operands[-1] if instruction.operands else ""
        targets = self._branch_targets.get(name, "")
        blocks = [self._labels.get(label.strip(), -1) for label in targets.split(",")]
        return blocks if targets and min(blocks) >= 0 else []

    @cached_property
    def _branch_targets(self) -> Mapping[str, str]:
        return dict(_TARGETS.findall(self.document.text))

    @cached_property
    def _labels(self) -> Mapping[str, int]:
        """Map each label of the compiler to the block after it; those of inline assembly are left out."""
        lines = [operation.line for operation in self.document.operations]
        blocks = {}
        for index, line in enumerate(self.document.lines):
            label, colon, _ = line.partition(":")
            if colon and label.startswith("$L"):
                operation = bisect_left(lines, index)
                if operation < len(lines):
                    blocks[label] = self.tree.graph.block_of(operation)
        return blocks

    @cached_property
    def needed(self) -> frozenset[int]:
        """Return the slice: the indices of the instructions that addresses, masks and branches depend on."""
        return _slice(self.instructions)


def _instruction(index: int, operation: Operation, line: str) -> Instruction:
    opcode = operation.opcode
    parts, is_float = _opcode(opcode)
    if is_float and "@" not in line and "[" not in line:
        return Instruction(
            index, opcode, parts, (), results=operation.results
        )  # nobody asks for its operands
    match = _STATEMENT.match(line.partition("//")[0] if "//" in line else line)
    if match is None or match[3] != opcode:
        return Instruction(index, opcode, parts, ())
    operands = tuple(_split(match[4].strip()))
    results = _results(parts, operands)
    return Instruction(index, opcode, parts, operands, match[2] or "", match[1] == "!", results)


@lru_cache(maxsize=4096)
def _opcode(opcode: str) -> tuple[tuple[str, ...], bool]:
    """Return the parts of an opcode, and whether its results are floating point or follow from it."""
    parts = tuple(opcode.split("."))
    if parts[0] in ("mov", "ld", "st", "selp", "shfl", "atom"):
        return parts, False
    return parts, parts[0] in _FLOAT_ONLY or _FLOAT.search(opcode) is not None


def _results(parts: Sequence[str], operands: Sequence[str]) -> tuple[str, ...]:
    if parts[0] in _STORES or not operands or operands[0].startswith("["):
        return ()
    if parts[0] == "griddepcontrol" or parts[:2] == ("mbarrier", "init"):
        return ()
    return tuple(name for name in names(operands[0]) if name != "_")


def _split(text: str) -> Iterable[str]:
    """Split the operands of an instruction at the commas outside of brackets."""
    if "{" not in text and "[" not in text and "(" not in text:
        return [part.strip() for part in text.split(",")] if text else []
    operands, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif letter == "," and depth <= 0:
            operands.append(text[start:index].strip())
            start = index + 1
    operands.append(text[start:].strip())
    return operands


def _slice(instructions: Sequence[Instruction]) -> frozenset[int]:
    definitions: dict[str, list[Instruction]] = {}
    for instruction in instructions:
        for name in instruction.results:
            definitions.setdefault(name, []).append(instruction)
    stores = [
        store_candidate
        for store_candidate in instructions
        if store_candidate.parts[0] == "st" and "shared" in store_candidate.opcode
    ]
    needed: set[int] = set()
    visited: set[str] = set()
    work = [name for instruction in instructions for name in roots(instruction)]
    while work:
        name = work.pop()
        if name in visited:
            continue
        visited.add(name)
        for instruction in definitions.get(name, ()):
            if instruction.index in needed:
                continue
            needed.add(instruction.index)
            if instruction.is_float:
                continue
            work += instruction.sources
            if instruction.parts[0] == "ld" and "shared" in instruction.opcode:
                for store in stores:
                    work += store.sources
                stores = []
    return frozenset(needed)


def roots(instruction: Instruction) -> Iterable[str]:
    """Return the registers that decide what an instruction accesses, whether, and where control goes."""
    registers = [instruction.guard] if instruction.guard else []
    if instruction.parts[0] == "brx":
        registers += names(instruction.operands[0])
    for operand in instruction.operands:
        if operand.startswith("["):
            registers += names(operand)
    if instruction.opcode.startswith("cp.async.c") and len(instruction.operands) > 3:
        registers += names(instruction.operands[3])
    return registers
