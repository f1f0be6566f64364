"""The work of a launch: instructions, loop iterations and memory traffic of its average program.

    count_launch(variant, launch, ptx) -> 132 programs x 4 warps, 2,048 mma, 131,072 sectors

The integer part of the PTX is interpreted for some programs of the grid, which are spread over it; counts are
their mean. What depends on data is stated as an assumption; what cannot be interpreted, as unknown.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from irscope.backends.instructions import InstructionKind
from irscope.backends.ptx_instructions import PTX
from irscope.estimating.carried_registers import carried_registers
from irscope.estimating.instruction_classes import class_of
from irscope.estimating.interpreter import Interpreter, Run
from irscope.estimating.lanes import Array
from irscope.estimating.launch_arguments import LaunchArguments, launch_arguments
from irscope.estimating.memory_traffic import Accessed, TensorTraffic, memory_traffic
from irscope.estimating.program_starts import ProgramStarts
from irscope.estimating.ptx_program import PtxProgram
from irscope.estimating.requests import LINES, SECTORS, THREADS, WARPS
from irscope.estimating.sampled_programs import neighbors, sampled_programs
from irscope.estimating.steps import Space, Steps, constant, steps_of
from irscope.estimating.wavefronts import WARP
from irscope.languages.document import Document, Location
from irscope.languages.ptx import parse
from irscope.model import Launch, Variant

_SECONDS = 2.0
_DIRECTIONS = {"load": "read", "copy": "read", "store": "write", "atomic": "atomic"}
_MOST_PREPARED = 32


@dataclass(frozen=True, slots=True)
class AccessCount:
    """One instruction that accesses memory, per program.

    `line` is the index (from 0) of its line in the PTX, `location` its place in Python. `space` is "global"
    or "shared"; `name` "load", "store", "atomic" or "copy" (cp.async, once for each side). `tensor` is the
    argument that it accesses ("": unknown, or shared memory), `width` the bytes per thread. `warps` are the
    warp instructions with an active thread, `threads` their active threads. `sectors` (32 bytes) and `lines`
    (128 bytes) are those of all requests; `wavefronts` those of shared memory.
    """

    line: int
    location: Location | None
    space: str
    name: str
    opcode: str
    tensor: str
    width: int
    warps: float
    threads: float
    sectors: float = 0.0
    lines: float = 0.0
    wavefronts: float = 0.0

    @property
    def bytes(self) -> float:
        """The bytes that its threads request per program."""
        return self.threads * self.width

    @property
    def inactive(self) -> float:
        """The share of the threads of its warps that are masked off."""
        return 1 - self.threads / (self.warps * WARP) if self.warps else 0.0


@dataclass(frozen=True, slots=True)
class TensorCopyCount:
    """One copy of the TMA unit, per program: how many blocks, and the bytes of each (0: unknown)."""

    line: int
    location: Location | None
    opcode: str
    tensor: str
    stores: bool
    copies: float
    block_bytes: int

    @property
    def bytes(self) -> float:
        """The bytes that it copies per program."""
        return self.copies * self.block_bytes


@dataclass(frozen=True, slots=True)
class LoopCount:
    """One loop of the PTX, per program.

    `header` is the index (from 0) of the line at which an iteration starts, `location` that of its last
    branch. `entries` are how often a warp enters it, `iterations` the iterations per entry (of the average
    warp), `passes` the iterations of all warps. `kinds` are the instructions of one iteration by kind,
    without inner loops, and `instructions` how many those are. `parent` is the index of the loop around it.
    """

    header: int
    location: Location | None
    parent: int
    depth: int
    entries: float
    iterations: float
    passes: float
    instructions: int
    kinds: Mapping[InstructionKind, int]


@dataclass(frozen=True)
class LaunchCounts:
    """The counts of a launch per average program; multiply by `programs` for the launch.

    `programs` is the number of programs in the grid, `warps` those of a program. `instructions` are warp
    instructions of PTX by class (see `instruction_classes`), `kinds` those that access memory, copy, or
    multiply matrices. `blocks` are the warps that execute each basic block of the PTX. `instructions_of`
    are the instructions of every sampled program; `sampled` their numbers in the grid. `assumptions` are
    decisions that data would make, `unknown` what could not be interpreted: counts are then too low.
    """

    programs: int
    warps: int
    instructions: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[InstructionKind, float] = field(default_factory=dict)
    loops: tuple[LoopCount, ...] = ()
    accesses: tuple[AccessCount, ...] = ()
    copies: tuple[TensorCopyCount, ...] = ()
    traffic: tuple[TensorTraffic, ...] = ()
    blocks: tuple[float, ...] = ()
    instructions_of: tuple[float, ...] = ()
    sampled: tuple[tuple[int, int, int], ...] = ()
    assumptions: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def total_instructions(self) -> float:
        """Warp instructions of PTX per program."""
        return sum(self.instructions.values())

    @property
    def longest(self) -> float:
        """How many times as many instructions the longest sampled program has as the average one."""
        mean = sum(self.instructions_of) / max(1, len(self.instructions_of))
        return max(self.instructions_of) / mean if mean else 1.0

    def sectors(self, *names: str) -> float:
        """The sectors of global memory that accesses of these names request per program."""
        return sum(one.sectors for one in self.accesses if one.space == "global" and one.name in names)

    def wavefronts(self, *names: str) -> float:
        """The wavefronts of shared memory that accesses of these names need per program."""
        return sum(one.wavefronts for one in self.accesses if one.space == "shared" and one.name in names)

    def matrix(self) -> Mapping[str, float]:
        """The matrix instructions per program by kind and shape ("wgmma.m64n128k16")."""
        return {kind.name: count for kind, count in self.kinds.items() if kind.kind == "matrix"}


class _Prepared:
    """What counting needs of a variant, whatever the launch."""

    def __init__(self, document: Document) -> None:
        self.program = PtxProgram(document)
        self.steps: Steps = steps_of(self.program)
        self.steps.carried = carried_registers(self.program, self.steps)
        instructions, lines = self.program.instructions, document.lines
        self.classes = [class_of(one.opcode) for one in instructions]
        self.kinds = [
            PTX.kinds(one.opcode, lines[document.operations[one.index].line]) if _counted(one.opcode) else ()
            for one in instructions
        ]


_prepared: OrderedDict[str, _Prepared] = OrderedDict()


def _prepare(text: str) -> _Prepared:
    """The preparation of a PTX text: further launches of a variant are cheaper."""
    found = _prepared.get(text)
    if found is None:
        found = _Prepared(parse(text))
        while len(_prepared) >= _MOST_PREPARED:
            _prepared.popitem(last=False)
    _prepared[text] = found
    _prepared.move_to_end(text)
    return found


def _counted(opcode: str) -> bool:
    return opcode.partition(".")[0] not in ("mov", "add", "mul", "fma", "sub", "cvt", "selp", "setp")


def count_launch(variant: Variant, launch: Launch, ptx: str, programs: int = 16) -> LaunchCounts:
    """The counts of `launch`; `ptx` is the variant's PTX, `programs` how many are interpreted.

    Never raises for any text: what is not interpreted is in `unknown`.
    """
    prepared = _prepare(ptx)
    program = prepared.program
    x, y, z = (*launch.grid, 1, 1, 1)[:3]
    grid = x, y, z
    count = prod(grid)
    threads = program.threads or WARP * _number_of_warps(variant)
    warps = -(-threads // WARP)
    unknown = _obstacles(program, count)
    if unknown:
        return LaunchCounts(count, warps, unknown=unknown)
    arguments = launch_arguments(variant, launch, program.parameters)
    most = max(4, min(programs, 8192 // (warps * WARP)))
    sampled = sampled_programs(grid, most)
    block = warps * WARP
    values = _values(prepared.steps, program, arguments, grid, sampled, block, block)
    interpreter = Interpreter(program, prepared.steps, values, arguments, len(sampled), block, _SECONDS)
    interpreter.execute()
    counts = _counts(prepared, interpreter, arguments, count, warps, sampled)
    return replace(counts, traffic=_traffic(prepared, interpreter, arguments, grid, sampled[0], block))


def _traffic(
    prepared: _Prepared,
    interpreter: Interpreter,
    arguments: LaunchArguments,
    grid: tuple[int, int, int],
    program: tuple[int, int, int],
    block: int,
) -> tuple[TensorTraffic, ...]:
    """The memory traffic of the first sampled program, and what it shares with others."""
    here = program[0] + grid[0] * (program[1] + grid[1] * program[2])
    linear = neighbors(here, prod(grid))
    ids = [(at % grid[0], at // grid[0] % grid[1], at // (grid[0] * grid[1])) for at in linear.tolist()]
    values = _values(prepared.steps, prepared.program, arguments, grid, ids, 1, block)
    starts = ProgramStarts(prepared.program, prepared.steps, values, arguments, len(ids), _SECONDS)
    starts.execute()
    run, accessed = interpreter.run, []
    for at, access in enumerate(prepared.steps.accesses):
        sectors = run.accesses[at, SECTORS]
        accessed.append(_accessed(_DIRECTIONS[access.name], sectors))
    for at, copy in enumerate(prepared.steps.copies):
        direction, copies = "write" if copy.stores else "read", run.copies[at]
        accessed.append(_accessed(direction, copies))
    return memory_traffic(interpreter.touches, accessed, arguments, starts.starts, linear, here, grid)


def _accessed(direction: str, sectors: NDArray[np.int64]) -> Accessed:
    return Accessed(direction, float(sectors.mean()), float(sectors[0]), float(sectors.max()))


def _number_of_warps(variant: Variant) -> int:
    number = variant.metadata.get("num_warps")
    return number if isinstance(number, int) and 0 < number <= 64 else 4


def _obstacles(program: PtxProgram, count: int) -> tuple[str, ...]:
    if not program.instructions:
        return ("no instructions",)
    if count <= 0:
        return ("an empty grid",)
    if len(program.tree.graph.entries) != 1:
        return (f"{len(program.tree.graph.entries)} functions: calls are not followed",)
    return () if program.known else ("the control flow is not known",)


def _values(
    steps: Steps,
    program: PtxProgram,
    arguments: LaunchArguments,
    grid: Sequence[int],
    sampled: Sequence[tuple[int, int, int]],
    threads: int,
    block: int,
) -> dict[int, Array]:
    """The first values of special registers, parameters and variables, in the first threads of a block."""
    ids = np.array(sampled, np.int32)
    lane = np.arange(threads, dtype=np.int32)[None, :]
    special: dict[str, Array] = {
        "%tid.x": lane,
        "%laneid": lane % WARP,
        "%warpid": lane // WARP,
        "%ntid.x": constant(block, "b32"),
        "%clock": constant(0, "b32"),
    }
    for at, axis in enumerate("xyz"):
        special[f"%ctaid.{axis}"] = ids[:, at : at + 1]
        special[f"%nctaid.{axis}"] = constant(grid[at], "b32")
        special.setdefault(f"%tid.{axis}", constant(0, "b32"))
        special.setdefault(f"%ntid.{axis}", constant(1, "b32"))
        for name in (f"%cluster_ctaid.{axis}", f"%clusterid.{axis}"):
            special[name] = constant(0, "b32")
    special["%cluster_ctarank"] = constant(0, "b32")
    found: dict[int, Array] = {}
    for name, number in steps.numbers.items():
        if name in special:
            found[number] = special[name]
        elif name in program.shared_symbols:
            found[number] = constant(program.shared_symbols[name], "b32")
        elif name in arguments.values:
            found[number] = constant(arguments.values[name], "b64")
        elif name.startswith("param "):
            _, kind, parameter = name.split(" ", 2)
            if parameter in arguments.values and kind[0] in "bsu":
                found[number] = constant(arguments.values[parameter], kind)
    return found


def _counts(
    prepared: _Prepared,
    interpreter: Interpreter,
    arguments: LaunchArguments,
    programs: int,
    warps: int,
    sampled: Sequence[tuple[int, int, int]],
) -> LaunchCounts:
    run = interpreter.run
    blocks = run.blocks.mean(axis=1)
    classes: dict[str, float] = {}
    kinds: dict[InstructionKind, float] = {}
    totals = np.zeros(len(sampled))
    for at, block in enumerate(prepared.program.tree.graph.blocks):
        executed = float(blocks[at])
        if not executed:
            continue
        totals += run.blocks[at] * (block.end - block.start)
        for index in range(block.start, block.end):
            name = prepared.classes[index]
            classes[name] = classes.get(name, 0.0) + executed
            for kind in prepared.kinds[index]:
                kinds[kind] = kinds.get(kind, 0.0) + executed
    unknown = [run.stopped] if run.stopped else []
    unknown += [f"argument {name} is not recorded" for name in arguments.missing]
    return LaunchCounts(
        programs=programs,
        warps=warps,
        instructions=classes,
        kinds=kinds,
        loops=_loops(prepared, run),
        accesses=_accesses(prepared, interpreter, arguments),
        copies=_copies(prepared, run),
        blocks=tuple(map(float, blocks)),
        instructions_of=tuple(map(float, totals)),
        sampled=tuple(sampled),
        assumptions=tuple(
            f"PTX line {prepared.program.document.operations[index].line + 1}: {text}"
            for index, text in sorted(run.assumptions.items())
        ),
        unknown=tuple(unknown),
    )


def _accesses(
    prepared: _Prepared, interpreter: Interpreter, arguments: LaunchArguments
) -> tuple[AccessCount, ...]:
    operations = prepared.program.document.operations
    means = interpreter.run.accesses.mean(axis=2)
    found = []
    for at, access in enumerate(prepared.steps.accesses):
        operation, mean = operations[access.index], means[at]
        shared = access.space is Space.SHARED
        address = interpreter.first_addresses.get(at)
        tensor = None if address is None else arguments.tensor(int(address.flat[0]))
        found.append(
            AccessCount(
                line=operation.line,
                location=operation.location,
                space=access.space.value,
                name=access.name,
                opcode=access.opcode,
                tensor=tensor.name if tensor else "",
                width=access.width,
                warps=float(mean[WARPS]),
                threads=float(mean[THREADS]),
                sectors=0.0 if shared else float(mean[SECTORS]),
                lines=0.0 if shared else float(mean[LINES]),
                wavefronts=float(mean[SECTORS]) if shared else 0.0,
            )
        )
    return tuple(found)


def _copies(prepared: _Prepared, run: Run) -> tuple[TensorCopyCount, ...]:
    operations = prepared.program.document.operations
    means = run.copies.mean(axis=1)
    found = []
    for at, copy in enumerate(prepared.steps.copies):
        operation, tensor = operations[copy.index], run.copied.get(at)
        found.append(
            TensorCopyCount(
                line=operation.line,
                location=operation.location,
                opcode=copy.opcode,
                tensor=tensor.name if tensor else "",
                stores=copy.stores,
                copies=float(means[at]),
                block_bytes=prod(tensor.block) * tensor.size if tensor and tensor.block else 0,
            )
        )
    return tuple(found)


def _loops(prepared: _Prepared, run: Run) -> tuple[LoopCount, ...]:
    tree, operations = prepared.program.tree, prepared.program.document.operations
    blocks = tree.graph.blocks
    found = []
    for at, loop in enumerate(tree.loops):
        entries, passes = float(run.entries[at].mean()), float(run.blocks[loop.header].mean())
        kinds: dict[InstructionKind, int] = {}
        for body in tree.bodies[at]:
            for index in range(blocks[body].start, blocks[body].end):
                for kind in prepared.kinds[index]:
                    kinds[kind] = kinds.get(kind, 0) + 1
        latch = max(loop.latches, default=loop.header)
        found.append(
            LoopCount(
                header=operations[blocks[loop.header].start].line,
                location=operations[blocks[latch].end - 1].location,
                parent=loop.parent,
                depth=loop.depth,
                entries=entries,
                iterations=passes / entries if entries else 0.0,
                passes=passes,
                instructions=sum(blocks[body].end - blocks[body].start for body in tree.bodies[at]),
                kinds=kinds,
            )
        )
    return tuple(found)
