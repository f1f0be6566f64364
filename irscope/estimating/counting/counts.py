"""The work of a launch: instructions, loop iterations and memory traffic of its average program.

    count_launch(variant, launch, ptx) -> 132 programs x 4 warps, 2,048 mma, 131,072 sectors

The integer part of the PTX is interpreted for some programs of the grid, which are spread over it; counts are
their mean. What depends on data is stated as an assumption; what cannot be interpreted, as unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from math import prod

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.interpreter import Interpreter, Run
from irscope.estimating.counting.lanes import Array
from irscope.estimating.counting.launch_arguments import LaunchArguments, launch_arguments
from irscope.estimating.counting.memory_requests import LINES, SECTORS, THREADS, WARPS
from irscope.estimating.counting.memory_traffic import AccessSectors, TensorTraffic, memory_traffic
from irscope.estimating.counting.programs import (
    Others,
    ProgramLengths,
    ProgramStarts,
    other_programs,
    sampled_programs,
)
from irscope.estimating.counting.ptx_program import PtxProgram
from irscope.estimating.counting.steady_loops import PreparedProgram, data_registers, prepared_program
from irscope.estimating.counting.translate import Space, constant
from irscope.model import Launch, Variant
from irscope.model.records import frozen
from irscope.targets.instructions import InstructionKind


@frozen
class AccessCount:
    """One instruction that accesses memory, per program.

    `line` is the index (from 0) of its line in the PTX. `space` is "global" or "shared"; `name` "load",
    "store", "atomic" or "copy" (cp.async, once for each side). `tensor` is the argument that it accesses ("":
    unknown, or shared memory), `width` the bytes per thread. `warps` are the warp instructions with an active
    thread, `threads` their active threads. `sectors` (32 bytes) and `lines` (128 bytes) are those of all
    requests; `wavefronts` those of shared memory.
    """

    line: int
    space: str
    name: str
    opcode: str
    tensor: str
    width: int
    warps: float
    threads: float
    sectors: float
    lines: float = 0.0
    wavefronts: float = 0.0

    @property
    def bytes(self) -> float:
        """Return the bytes that its threads request per program."""
        return self.threads * self.width


@frozen
class TensorCopyCount:
    """One copy of the TMA unit, per program: how many blocks, and the bytes of each (0: unknown)."""

    line: int
    stores: bool
    copies: float
    block_bytes: int

    @property
    def bytes(self) -> float:
        """Return the bytes that it copies per program."""
        return self.copies * self.block_bytes


@frozen
class LoopCount:
    """One loop of the PTX, per program.

    `header` is the index (from 0) of the line at which an iteration starts. `iterations` are those per entry
    (of the average warp), `passes` those of all warps, and `instructions` those of one, without inner loops.
    """

    header: int
    iterations: float
    passes: float
    instructions: int


@frozen
class LaunchCounts:
    """The counts of a launch per average program; multiply by `programs` for the launch.

    `programs` is the number of programs in the grid, without those that end at once because an integer of a
    tensor says that there is nothing to do (`ended`); `warps` are those of a program. `kinds` are the warp
    instructions of PTX that access memory, copy, or multiply matrices. `blocks` are the warps that execute
    each basic block of the PTX. `instructions_of` are the instructions of every sampled program,
    `assumptions` are decisions that data would make, `depends` the tensors whose values are not known and
    decide branches ("lengths (line 24)"), `unknown` what could not be interpreted: counts are then too low.
    """

    programs: int
    warps: int
    kinds: Mapping[InstructionKind, float] = field(default_factory=dict)
    loops: tuple[LoopCount, ...] = ()
    accesses: tuple[AccessCount, ...] = ()
    copies: tuple[TensorCopyCount, ...] = ()
    traffic: tuple[TensorTraffic, ...] = ()
    blocks: tuple[float, ...] = ()
    instructions_of: tuple[float, ...] = ()
    assumptions: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    ended: float = 0.0
    depends: tuple[str, ...] = ()

    @property
    def total_instructions(self) -> float:
        """Return the warp instructions of PTX per program."""
        return sum(self.instructions_of) / max(1, len(self.instructions_of))

    @property
    def longest(self) -> float:
        """Return the ratio of the longest sampled program's instructions to the average one's."""
        mean = self.total_instructions
        return max(self.instructions_of) / mean if mean else 1.0

    def sectors(self, *names: str) -> float:
        """Return the sectors of global memory that accesses of these names request per program."""
        return sum(
            access.sectors for access in self.accesses if access.space == "global" and access.name in names
        )

    def wavefronts(self, *names: str) -> float:
        """Return the wavefronts of shared memory that accesses of these names need per program."""
        return sum(
            access.wavefronts for access in self.accesses if access.space == "shared" and access.name in names
        )

    def matrix(self) -> Mapping[str, float]:
        """Return the matrix instructions per program by kind and shape ("wgmma.m64n128k16")."""
        return {kind.name: count for kind, count in self.kinds.items() if kind.kind == "matrix"}


# Programs times threads that are interpreted, as far as there are at least four programs.
_MOST_THREADS = 8192
_MOST_WARPS = 64
# The longest PTX to interpret, in characters: reading it takes two seconds.
_LONGEST = 2_500_000
# Programs that are compared if several warps of each are interpreted.
_FEWER = 256
_MOST_MISSING = 0.02
# Programs whose lengths are compared, to interpret those that represent all of them.
_MOST_COMPARED = 2048
_DIRECTIONS = {"load": "read", "copy": "read", "store": "write", "atomic": "atomic"}
# The programs of a launch that are interpreted.
_FEWEST_PROGRAMS, _MOST_PROGRAMS = 4, 16
# The numbers of a program in the grid.
_ProgramId = tuple[int, int, int]


def count_launch(variant: Variant, launch: Launch, ptx: str) -> LaunchCounts:
    """Count the work of `launch`; `ptx` is the variant's PTX, or its LLVM IR if the target is one of AMD.

    Never raises for any text: what is not interpreted is in `unknown`.
    """
    x, y, z = (*launch.grid, 1, 1, 1)[:3]
    warps = _number_of_warps(variant)
    if len(ptx) > _LONGEST:
        return LaunchCounts(
            max(0, x * y * z), warps, unknown=(f"{len(ptx):,} characters of PTX are too many",)
        )
    try:
        return _count(prepared_program(ptx, variant.target), variant, launch, (x, y, z))
    except Exception as error:  # noqa: BLE001 - the text is untrusted, and one variant must not cost others
        text = f"the PTX could not be interpreted: {type(error).__name__}"
        return LaunchCounts(max(0, x * y * z), warps, unknown=(text,))


def _count(
    prepared: PreparedProgram, variant: Variant, launch: Launch, grid: tuple[int, int, int]
) -> LaunchCounts:
    program, count = prepared.program, prod(grid)
    warps = -(-(program.threads or program.warp * _number_of_warps(variant)) // program.warp)
    unknown = _obstacles(program, count, warps)
    if unknown:
        return LaunchCounts(max(0, count), warps, unknown=unknown)
    arguments = launch_arguments(variant, launch, program.parameters)
    counter = _LaunchCounter(prepared, arguments, grid, warps)
    most = max(_FEWEST_PROGRAMS, min(_MOST_PROGRAMS, _MOST_THREADS // counter.block))
    if not arguments.has_values:
        return counter.counts(sampled_programs(grid, most))
    sampled, working = counter.representative(most)
    return counter.counts(sampled, working)


@frozen
class _LaunchCounter:
    """Counts one launch; `warps` are those of a program."""

    prepared: PreparedProgram
    arguments: LaunchArguments
    grid: tuple[int, int, int]
    warps: int

    @property
    def block(self) -> int:
        """Return the threads of a program."""
        return self.warps * self.prepared.program.warp

    def representative(self, most: int) -> tuple[list[_ProgramId], float]:
        """Choose programs that represent all that do not end at once, and return the share of those.

        They are those in the middle of equal parts of all that were compared, by how long they run.
        """
        prepared, compared = self.prepared, sampled_programs(self.grid, _MOST_COMPARED)
        run = ProgramLengths(
            prepared.program, prepared.steps, self._values(compared, 1), self.arguments, len(compared)
        )
        run.execute()
        chosen = run.representative(most)
        share = float(run.working().mean()) or 1.0
        return [compared[number] for number in chosen.tolist()], share

    def counts(self, sampled: Sequence[_ProgramId], working: float = 1.0) -> LaunchCounts:
        """Count the work of some programs of the grid; `working` is the share of those like them."""
        interpreter = self._interpreted(sampled)
        run, program = interpreter.run, self.prepared.program
        blocks = run.blocks.mean(axis=1)
        kinds: dict[InstructionKind, float] = {}
        totals = np.zeros(len(sampled))
        for block_number, block in enumerate(program.tree.graph.blocks):
            executed = float(blocks[block_number])
            if not executed:
                continue
            totals += run.blocks[block_number] * (block.end - block.start)
            for index in range(block.start, block.end):
                for kind in self.prepared.kinds[index]:
                    kinds[kind] = kinds.get(kind, 0.0) + executed
        unknown = [run.stopped] if run.stopped else []
        unknown += [f"argument {name} is not recorded" for name in self.arguments.missing]
        programs = max(1, round(prod(self.grid) * working))
        return LaunchCounts(
            programs=programs,
            warps=self.warps,
            kinds=kinds,
            loops=tuple(self._loops(run)),
            accesses=tuple(self._accesses(interpreter)),
            copies=tuple(self._copies(run)),
            traffic=self._traffic(interpreter, sampled, programs),
            blocks=tuple(map(float, blocks)),
            instructions_of=tuple(map(float, totals)),
            assumptions=tuple(
                f"{program.source} line {self._line(index) + 1}: {text}"
                for index, text in sorted(run.assumptions.items())
            ),
            unknown=tuple(unknown),
            ended=float(prod(self.grid) - programs),
            depends=tuple(self._depends(interpreter)),
        )

    def _depends(self, interpreter: Interpreter) -> Iterator[str]:
        """Yield the tensors whose values decide branches and are not known, with the lines that load them."""
        found = set()
        for number, access in enumerate(self.prepared.steps.accesses):
            address = interpreter.first_addresses.get(number)
            if access.index in interpreter.run.deciding and address is not None:
                tensor = self.arguments.tensor(int(address.flat[0]))
                location = self.prepared.program.location(access.index)
                found.add((tensor.name if tensor else "a tensor", location.line if location else 0))
        for name, line in sorted(found, key=lambda pair: pair[::-1]):
            yield f"{name} (line {line})" if line else name

    def _interpreted(self, programs: Sequence[_ProgramId]) -> Interpreter:
        """Interpret all threads of some programs."""
        values = self._values(programs, self.block)
        prepared = self.prepared
        interpreter = Interpreter(
            prepared.program, prepared.steps, values, self.arguments, len(programs), self.block
        )
        interpreter.execute()
        return interpreter

    def _line(self, operation: int) -> int:
        return self.prepared.program.line(operation)

    def _examined(self, run: Run) -> int:
        """Return the index of the sampled program whose memory accesses are examined.

        It is the first one, unless masks keep it from accesses that are more than 2 % of all
        programs': then it is the first that accesses the most sectors.
        """
        directions = [access.space is Space.GLOBAL for access in self.prepared.steps.accesses]
        global_sectors = run.accesses[directions, SECTORS]
        if not global_sectors.size or not global_sectors.sum():
            return 0
        missing = global_sectors[global_sectors[:, 0] == 0].sum() / global_sectors.sum()
        return int(global_sectors.sum(axis=0).argmax()) if missing > _MOST_MISSING else 0

    def _traffic(
        self, interpreter: Interpreter, sampled: Sequence[_ProgramId], programs: int
    ) -> tuple[TensorTraffic, ...]:
        """Compute the memory traffic of one sampled program, and what others share."""
        prepared, run = self.prepared, interpreter.run
        examined = self._examined(run)
        program = sampled[examined]
        touches = (self._interpreted([program]) if examined else interpreter).touches
        first_addresses, compared = self._shared(program)
        scattered, placed = self._data(run)
        accessed = [
            _accessed(
                _DIRECTIONS[access.name],
                sectors[SECTORS],
                examined,
                access.address in scattered,
                access.address in placed,
            )
            for access, sectors in zip(prepared.steps.accesses, run.accesses, strict=True)
        ]
        accessed += [
            _accessed("write" if copy.stores else "read", copies, examined)
            for copy, copies in zip(prepared.steps.copies, run.copies, strict=True)
        ]
        return memory_traffic(touches, accessed, self.arguments, first_addresses, compared, programs)

    def _shared(self, program: _ProgramId) -> tuple[Mapping[int, Array], Others]:
        """Return the first addresses of the programs that are compared with one, and which they are."""
        steps, grid = self.prepared.steps, self.grid
        warps = self.warps if steps.specialized else 1
        compared = other_programs(program, grid, *([_FEWER] if warps > 1 else []))
        ids = [
            (number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1]))
            for number in compared.numbers.tolist()
        ]
        values = self._values(ids, warps)
        starts = ProgramStarts(self.prepared.program, steps, values, self.arguments, len(ids), warps)
        starts.execute()
        compared, first_addresses = starts.among_working(compared)
        return first_addresses, compared

    def _data(self, run: Run) -> tuple[frozenset[int], frozenset[int]]:
        """Return the registers that data decides, and those that integers of the launch decide alone.

        An integer that all threads of a program load is a place for all: only others scatter.
        """
        if not run.known:
            return self.prepared.scattered, frozenset()
        steps = self.prepared.steps
        known = {steps.accesses[number].index for number in run.known}
        uniform = {steps.accesses[number].index for number, same in run.known.items() if same}
        placed = data_registers(steps, {access.index for access in steps.accesses} - known)
        return data_registers(steps, uniform), placed - data_registers(steps, known)

    def _values(self, programs: Sequence[_ProgramId], threads: int) -> dict[int, Array]:
        """Return the initial values of special registers, parameters and variables.

        They are those of the first `threads` threads of a block, or of one thread per warp.
        """
        ids = np.array(programs, np.int32)
        # Either all threads of a block, or one of each warp.
        warp = self.prepared.program.warp
        lane = np.arange(threads, dtype=np.int32)[None, :] * (1 if threads == self.block else warp)
        special: dict[str, Array] = {
            "%tid.x": lane,
            "%laneid": lane % warp,
            "%warpid": lane // warp,
            "%ntid.x": constant(self.block, "b32"),
        }
        for axis_number, axis in enumerate("xyz"):
            special[f"%ctaid.{axis}"] = ids[:, axis_number : axis_number + 1]
            special[f"%nctaid.{axis}"] = constant(self.grid[axis_number], "b32")
            special.setdefault(f"%ntid.{axis}", constant(1, "b32"))
        zeros = ["%clock", "%cluster_ctarank", "%tid.y", "%tid.z"]
        zeros += [f"%{name}.{axis}" for name in ("cluster_ctaid", "clusterid") for axis in "xyz"]
        special |= dict.fromkeys(zeros, constant(0, "b32"))
        symbols, recorded = self.prepared.program.shared_symbols, self.arguments.values
        values: dict[int, Array] = {}
        for name, number in self.prepared.steps.numbers.items():
            if name in special:
                values[number] = special[name]
            elif name in symbols:
                values[number] = constant(symbols[name], "b32")
            elif name in recorded:
                values[number] = constant(recorded[name], "b64")
            elif name.startswith("param "):
                _, kind, parameter = name.split(" ", 2)
                if parameter in recorded and kind[0] in "bsu":
                    values[number] = constant(recorded[parameter], kind)
        return values

    def _accesses(self, interpreter: Interpreter) -> Iterator[AccessCount]:
        means = interpreter.run.accesses.mean(axis=2)
        for number, access in enumerate(self.prepared.steps.accesses):
            mean = means[number]
            shared = access.space is Space.SHARED
            address = interpreter.first_addresses.get(number)
            tensor = None if address is None else self.arguments.tensor(int(address.flat[0]))
            yield AccessCount(
                line=self._line(access.index),
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

    def _copies(self, run: Run) -> Iterator[TensorCopyCount]:
        copies = zip(self.prepared.steps.copies, run.copies.mean(axis=1), strict=True)
        for number, (copy, mean) in enumerate(copies):
            tensor = run.copied.get(number)
            block_bytes = prod(tensor.block) * tensor.size if tensor and tensor.block else 0
            yield TensorCopyCount(self._line(copy.index), copy.stores, float(mean), block_bytes)

    def _loops(self, run: Run) -> Iterator[LoopCount]:
        tree = self.prepared.program.tree
        blocks = tree.graph.blocks
        for number, loop in enumerate(tree.loops):
            entries, passes = float(run.entries[number].mean()), float(run.blocks[loop.header].mean())
            yield LoopCount(
                header=self._line(blocks[loop.header].start),
                iterations=passes / entries if entries else 0.0,
                passes=passes,
                instructions=sum(blocks[body].end - blocks[body].start for body in tree.bodies[number]),
            )


def _accessed(
    direction: str, sectors: NDArray[np.int64], own: int, scattered: bool = False, placed: bool = False
) -> AccessSectors:
    return AccessSectors(
        direction, float(sectors.mean()), float(sectors[own]), float(sectors.max()), scattered, placed
    )


def _number_of_warps(variant: Variant) -> int:
    number = variant.metadata.get("num_warps")
    return number if isinstance(number, int) and 0 < number <= 64 else 4


def _obstacles(program: PtxProgram, count: int, warps: int) -> tuple[str, ...]:
    if not program.instructions:
        return ("no instructions",)
    if count <= 0 or not 0 < warps <= _MOST_WARPS:
        return ("an empty grid",) if count <= 0 else (f"{warps} warps per program",)
    if len(program.tree.graph.entries) != 1:
        return (f"{len(program.tree.graph.entries)} functions: calls are not followed",)
    return () if program.known else ("the control flow is not known",)
