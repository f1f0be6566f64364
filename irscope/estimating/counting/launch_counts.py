"""The counts of a launch: the work of its average program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irscope.estimating.counting.memory_traffic import TensorTraffic
from irscope.languages.document import Location
from irscope.targets.instructions import InstructionKind


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
        """Return the bytes that its threads request per program."""
        return self.threads * self.width


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
        """Return the bytes that it copies per program."""
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
        """Return the warp instructions of PTX per program."""
        return sum(self.instructions.values())

    @property
    def longest(self) -> float:
        """Return the ratio of the longest sampled program's instructions to the average one's."""
        mean = sum(self.instructions_of) / max(1, len(self.instructions_of))
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
