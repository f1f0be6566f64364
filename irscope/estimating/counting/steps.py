"""PTX instructions as steps of an interpreter: which registers are read, computed and written.

A program's registers are numbered. Constants, special registers, parameters and variables have numbers too;
their values are set before a program runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from irscope.estimating.counting import lanes
from irscope.languages.control_flow import NONE


class Kind(Enum):
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """A copy of a block by the TMA unit: the register of its descriptor's address and of its coordinates."""

    index: int
    opcode: str
    descriptor: int
    coordinates: tuple[int, ...]
    stores: bool


def not_interpreted(*_: object) -> lanes.Array:
    """The function of an instruction whose results are unknown."""
    raise TypeError("not interpreted")


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction that is interpreted. `results` and `sources` are registers; guard NONE: always."""

    kind: Kind
    index: int
    results: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    guard: int = NONE
    negated: bool = False
    function: lanes.Operation = not_interpreted
    access: Access | None = None
    copy: TensorCopy | None = None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exit:
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
    # By the block of its header: the registers that a loop carries.
    carried: Mapping[int, Sequence[int]] = field(default_factory=dict)

    @property
    def specialized(self) -> bool:
        """Whether warps have different work: they wait for each other at barriers of the whole program."""
        return any(step.kind is Kind.BARRIER for block in self.blocks for step in block)

    def register(self, name: str) -> int:
        """The number of a register or symbol."""
        return self.numbers.setdefault(name, len(self.numbers))
