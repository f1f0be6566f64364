"""PTX instructions as steps of an interpreter: which registers are read, computed and written.

A program's registers are numbered. Constants, special registers, parameters and variables have numbers too;
their values are set before a program runs.

Translates PTX instructions to steps of the interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from irscope.estimating.counting import lanes
from irscope.estimating.counting.ptx_program import Instruction, PtxProgram, names
from irscope.languages.control_flow import NONE
from irscope.model.records import frozen
from irscope.targets.cuda_instructions import PTX


class StepKind(Enum):
    """The effect of a step."""

    COMPUTE = 0
    ACCESS = 1
    TENSOR_COPY = 2
    LANES = 3
    # All threads of the program wait for each other.
    BARRIER = 4


class Space(Enum):
    """The memory that an access reads or writes."""

    GLOBAL = "global"
    SHARED = "shared"


@frozen
class Access:
    """An instruction that accesses memory.

    `name` is "load", "store", "atomic" or "copy"; `opcode` the instruction's. `address` is a register,
    `offset` is added to it. `width` is in bytes per thread. `lanes` is how many lanes of a warp give
    addresses (8 and 16: some ldmatrix and stmatrix). `size` is the register of an async copy's size (NONE:
    it copies `width`). `data` are the registers that a store writes,
    `source` the side of an async copy that reads global memory, `register` the type of a load's registers.
    """

    index: int
    space: Space
    name: str
    opcode: str
    address: int
    offset: int
    width: int
    lanes: int = 32
    size: int = NONE
    data: tuple[int, ...] = ()
    source: Access | None = None
    register: str = "b32"


@frozen
class TensorCopy:
    """A copy of a block by the TMA unit: the register of its descriptor's address and of its coordinates."""

    index: int
    descriptor: int
    coordinates: tuple[int, ...]
    stores: bool


def not_interpreted(*_: object) -> lanes.Array:
    """Raise TypeError: the results of the instruction are unknown."""
    raise TypeError("not interpreted")


@frozen
class Step:
    """One instruction that is interpreted. `results` and `sources` are registers; guard NONE: always."""

    kind: StepKind
    index: int
    results: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    guard: int = NONE
    negated: bool = False
    function: lanes.Operation = not_interpreted
    access: Access | None = None
    copy: TensorCopy | None = None
    parts: tuple[str, ...] = ()


class Exit(NamedTuple):
    """How a block ends: the block if the condition holds, and if not; NONE ends the program.

    `condition` is a register (NONE: it always holds), or the index into `table` of an indirect branch.
    """

    taken: int
    otherwise: int
    condition: int = NONE
    negated: bool = False
    table: tuple[int, ...] = ()
    known: bool = True


@dataclass
class Steps:
    """The steps of each block, the numbers of registers, and the registers' first values."""

    blocks: list[list[Step]] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    constants: dict[int, lanes.Array] = field(default_factory=dict)
    # Accesses in the order of the text.
    accesses: list[Access] = field(default_factory=list)
    copies: list[TensorCopy] = field(default_factory=list)
    # Whether addresses or conditions depend on what is loaded from shared memory.
    loads_shared: bool = False
    # Threads of a warp; banks of shared memory, and whether two passes that read the same words are one.
    warp: int = 32
    banks: int = 32
    merges: bool = True
    # By the block of its header: the registers that a loop carries.
    carried: Mapping[int, Sequence[int]] = field(default_factory=dict)
    # By block: the instructions that load, from global memory, what decides where the block leads.
    deciding: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @property
    def specialized(self) -> bool:
        """Return True if warps have different work: they wait for each other at barriers of the program."""
        return any(step.kind is StepKind.BARRIER for block in self.blocks for step in block)

    def register(self, name: str) -> int:
        """Return the number of a register or symbol; a new name gets a new number."""
        return self.numbers.setdefault(name, len(self.numbers))


_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?$")
_FLOAT_BITS = re.compile(r"0[fFdD]([0-9a-fA-F]{8,16})$")
_ADDRESS = re.compile(r"\[\s*([%$\w.]+)\s*(?:\+\s*(-?\w+))?\s*")
_COORDINATES = re.compile(r"\{([^}]*)\}")


class Translator:
    """Translates a program to its steps: those of its slice, and its accesses."""

    def __init__(self, program: PtxProgram) -> None:
        self._program = program
        self._needed = program.needed
        self._steps = Steps(warp=program.warp, banks=program.banks, merges=program.source == "PTX")

    def run(self) -> Steps:
        """Return the steps."""
        for block in self._program.tree.graph.blocks:
            steps: list[Step] = []
            for index in range(block.start, block.end):
                steps += self._step(self._program.instructions[index])
            self._steps.blocks.append(steps)
            self._steps.exits.append(self._exit(block.end - 1, block.successors))
        return self._steps

    def _exit(self, last: int, successors: Sequence[int]) -> Exit:
        instruction = self._program.instructions[last]
        mnemonic = instruction.parts[0]
        guard = self._steps.register(instruction.guard) if instruction.guard else NONE
        following = successors[0] if successors else NONE
        if mnemonic == "brx":
            table = tuple(self._program.branch_table(instruction))
            index = self._operand(instruction.operands[0], "b32") if instruction.operands else NONE
            return Exit(following, following, index, table=table, known=bool(table))
        if mnemonic == "bra" and guard != NONE:
            return Exit(successors[-1], following, guard, instruction.negated)
        if mnemonic in ("ret", "exit", "trap"):
            return Exit(NONE, following, guard, instruction.negated) if guard != NONE else Exit(NONE, NONE)
        return Exit(following, following)

    def _step(self, instruction: Instruction) -> list[Step]:
        mnemonic = instruction.parts[0]
        if mnemonic in ("bra", "brx", "ret", "exit", "trap"):
            return []
        if instruction.parts[:2] == ("barrier", "sync") and len(instruction.operands) == 1:
            return [Step(StepKind.BARRIER, instruction.index)]
        if mnemonic in _ACCESSES and "param" not in instruction.opcode:
            return self._accesses(instruction)
        if instruction.index not in self._needed:
            return []
        return [self._compute(instruction)]

    def _base(self, kind: StepKind, instruction: Instruction) -> Step:
        """Return a step with the guard of an instruction."""
        guard = self._steps.register(instruction.guard) if instruction.guard else NONE
        return Step(kind, instruction.index, guard=guard, negated=instruction.negated)

    def _compute(self, instruction: Instruction) -> Step:
        parts, operands = instruction.parts, instruction.operands
        results = tuple(map(self._steps.register, instruction.results))
        base = replace(self._base(StepKind.COMPUTE, instruction), results=results)
        if instruction.is_float:
            return base
        if parts[0] in _LANE_OPERATIONS:
            sources = tuple(self._operand(text, "b32") for text in operands[1:])
            return replace(base, kind=StepKind.LANES, sources=sources, parts=parts)
        if parts[0] == "ld":
            return replace(base, sources=(self._parameter(instruction),), function=lanes.unchanged)
        if parts[0] in ("mov", "cvta") and parts[-1] in ("b64", "b32") and "{" in "".join(operands):
            return self._vector_move(instruction, base)
        try:
            function = lanes.operation(parts)
        except (KeyError, IndexError):
            function = None
        if function is None or len(results) != 1:
            return base
        kinds = _operand_types(parts)
        sources = tuple(
            self._operand(text, kinds[min(index, len(kinds) - 1)]) for index, text in enumerate(operands[1:])
        )
        compared = parts if parts[0] == "setp" else ()
        return replace(base, sources=sources, function=function, parts=compared)

    def _parameter(self, instruction: Instruction) -> int:
        match = _ADDRESS.match(instruction.operands[1])
        if match is None:
            return self._steps.register("?")
        offset = match[2] or "0"
        name = match[1] if offset == "0" else f"{match[1]}+{offset}"
        return self._steps.register(f"param {instruction.parts[-1]} {name}")

    def _vector_move(self, instruction: Instruction, base: Step) -> Step:
        """Translate `mov.b64 {%r1, %r2}, %rd1` and `mov.b64 %rd1, {%r1, %r2}`."""
        bits = int(instruction.parts[-1][1:])
        target, source = instruction.operands[0], instruction.operands[1]
        if target.startswith("{"):
            parts = [part.strip() for part in target.strip("{} ").split(",")]
            register = self._operand(source, instruction.parts[-1])
            wanted = [index for index, name in enumerate(parts) if name != "_"]
            results = tuple(self._steps.register(parts[index]) for index in wanted)
            function = partial(lanes.unpacked, bits=bits // len(parts), wanted=wanted)
            return replace(base, results=results, sources=(register,), function=function)
        parts = [part.strip() for part in source.strip("{} ").split(",")]
        part_bits = bits // len(parts)
        sources = tuple(self._operand(part, f"b{part_bits}") for part in parts)
        return replace(base, sources=sources, function=partial(lanes.packed, bits=bits, part_bits=part_bits))

    def _operand(self, text: str, kind: str) -> int:
        """Return the register of an operand; constants get one."""
        text = text.strip()
        if text[:1] == "%":
            return self._steps.register(text)
        number = _constant(text)
        if number is None:
            return self._steps.register(text.lstrip("!").strip())
        name = f"#{kind} {number}"
        register = self._steps.register(name)
        if register not in self._steps.constants:
            self._steps.constants[register] = constant(number, kind)
        return register

    def _accesses(self, instruction: Instruction) -> list[Step]:
        parts, operands = instruction.parts, instruction.operands
        if parts[0] == "cp":
            return self._copies(instruction)
        needed = instruction.index in self._needed
        kind = next((candidate for candidate in PTX.kinds(instruction.opcode, "") if candidate.width), None)
        if kind is None or kind.kind.startswith("local"):
            return [self._compute(instruction)] if needed else []
        where = next((text for text in operands if text.startswith("[")), None)
        if where is None:
            return []
        space = Space.SHARED if kind.kind.startswith("shared") else Space.GLOBAL
        matrix = parts[0] in ("ldmatrix", "stmatrix")
        stored = operands[-1].strip("{} ").split(",") if parts[0] == "st" else []
        address, offset = self._address(where)
        loads = needed and instruction.results and not matrix
        access = Access(
            index=instruction.index,
            space=space,
            name=kind.kind.partition(" ")[2],
            opcode=instruction.opcode,
            address=address,
            offset=offset,
            width=16 if matrix else kind.width,
            lanes=min(32, 2 * kind.width) if matrix else self._steps.warp,
            data=tuple(self._operand(text, parts[-1]) for text in stored),
            register=_register_type(instruction.results[0]) if loads else "b32",
        )
        self._steps.accesses.append(access)
        results = tuple(map(self._steps.register, instruction.results)) if needed else ()
        if results and space is Space.SHARED and parts[0] == "ld":
            self._steps.loads_shared = True
        base = self._base(StepKind.ACCESS, instruction)
        return [replace(base, results=results, access=access, parts=parts)]

    def _copies(self, instruction: Instruction) -> list[Step]:
        opcode, operands = instruction.opcode, instruction.operands
        addresses = [text for text in operands if text.startswith("[")]
        if opcode.startswith("cp.async.c") and len(addresses) == 2:
            size = self._operand(operands[3], "b32") if len(operands) > 3 else NONE
            width = _constant(operands[2]) or 16
            sides = [
                Access(
                    instruction.index,
                    space,
                    "copy",
                    opcode,
                    *self._address(text),
                    width,
                    self._steps.warp,
                    size,
                )
                for space, text in ((Space.GLOBAL, addresses[1]), (Space.SHARED, addresses[0]))
            ]
            target = replace(sides[1], source=sides[0])
            self._steps.accesses += [sides[0], target]
            return [replace(self._base(StepKind.ACCESS, instruction), access=target)]
        described = next((text for text in addresses if "{" in text), None)
        if "bulk" in instruction.parts and described is not None:
            coordinates = _COORDINATES.search(described)
            registers = names(described.partition("{")[0])
            copy = TensorCopy(
                instruction.index,
                self._steps.register(registers[0]) if registers else NONE,
                tuple(self._operand(text, "b32") for text in coordinates[1].split(","))
                if coordinates
                else (),
                stores=addresses[0] == described,
            )
            self._steps.copies.append(copy)
            return [replace(self._base(StepKind.TENSOR_COPY, instruction), copy=copy)]
        return []

    def _address(self, text: str) -> tuple[int, int]:
        match = _ADDRESS.match(text)
        if match is None:
            return self._steps.register("?"), 0
        return self._steps.register(match[1]), _constant(match[2] or "0") or 0


_ACCESSES = frozenset(["ld", "st", "atom", "red", "ldmatrix", "stmatrix", "cp", "multimem"])
_LANE_OPERATIONS = frozenset(["shfl", "elect", "vote", "match", "activemask", "redux", "mbarrier"])


def _register_type(name: str) -> str:
    """Return the type of a register by its name: LLVM calls 16, 32, 64 bits %rs1, %r1 and %rd1."""
    return "b16" if name.startswith("%rs") else "b64" if name.startswith("%rd") else "b32"


# The types of operands that differ from an instruction's own; those after the last are like the last.
_OPERAND_TYPES = {
    "shl": ("", "b32"),
    "shr": ("", "b32"),
    "bfe": ("", "b32"),
    "bfi": ("", "", "b32"),
    "selp": ("", "", "pred"),
    "setp": ("", "", "pred"),
}


@lru_cache(maxsize=4096)
def _operand_types(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the types of an instruction's operands; those after the last are like the last."""
    kind = parts[-1]
    if parts[0] == "mad" and "wide" in parts:
        return kind, kind, f"b{2 * lanes.bits_of(kind)}"
    return tuple(operand_type or kind for operand_type in _OPERAND_TYPES.get(parts[0], ("",)))


def _constant(text: str) -> int | None:
    """Parse an immediate operand: its number, the bits of a floating-point one, or None."""
    if _NUMBER.match(text):
        digits = text.rstrip("U")
        octal = digits.lstrip("-").startswith("0") and "x" not in digits.lower()
        return int(digits, 8 if octal and set(digits) <= set("-01234567") else 0 if not octal else 10)
    match = _FLOAT_BITS.match(text)
    return int(match[1], 16) if match else None


def constant(number: int, kind: str) -> lanes.Array:
    """Return a number as a register of a type, the same in all programs and threads."""
    store = lanes.storage(kind)
    if store is np.bool_:
        return np.array([[number != 0]])
    bits = np.dtype(store).itemsize * 8
    low = number & ((1 << bits) - 1)
    return np.array([[low - (1 << bits) if low >> (bits - 1) else low]], store)
