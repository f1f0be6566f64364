"""The registers that operations of an assembly language read and write.

    @P0 MOV R3, R4    -> reads R4, writes R3, but not certainly

Sets of registers are masks: bit n of an integer is register n, in the numbering of the text's own file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irscope.model.records import frozen


@frozen
class RegisterAccess:
    """The registers of one operation, as masks.

    `certain` is False if the operation may not write what it writes: its predicate may be false.
    """

    reads: int = 0
    writes: int = 0
    certain: bool = True


NO_ACCESS = RegisterAccess()


@frozen
class RegisterFile:
    """How registers count: `weights` has a mask of registers and how many physical ones each of them takes.

    `virtual`: the names are not places. An operation may then write its result to the register of an
    operand that it reads last, so it does not need both at once.
    """

    weights: Sequence[tuple[int, float]]
    virtual: bool = False

    def count(self, mask: int) -> float:
        """Count the physical registers that the registers of a mask take."""
        return sum((mask & weighted_mask).bit_count() * weight for weighted_mask, weight in self.weights)


@frozen
class StackAccess:
    """A store or load of local memory.

    `operation` is its index, `stored` the mask of the registers that a store writes (0: a load), and `slots`
    the offsets of its words in bytes; none if the address is not known.
    """

    operation: int
    stores: bool
    stored: int
    slots: tuple[int, ...]


@frozen
class RegisterUse:
    """The registers that every operation of a document reads and writes.

    `accesses` has an entry per operation. `copies` maps each operation that only moves a value to the mask
    of the register that it comes from. `stack` are the accesses to local memory, in the order of the text.
    """

    accesses: Sequence[RegisterAccess]
    file: RegisterFile
    copies: Mapping[int, int]
    stack: Sequence[StackAccess] = ()
