"""What the machine asks a domain: what floats, loads, stores, reductions and products are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from irscope.interpreting.runtime_values import Array, RuntimeValue
from irscope.interpreting.stage_program import Op, OpBlock, StageProgram, Type

# Combines the operands of two partial results, as the region of a `tt.reduce` says.
Combine = Callable[[Sequence[RuntimeValue]], list[RuntimeValue]]


class Domain(Protocol):
    """The meaning of everything that is no known integer."""

    def begin(self, program: StageProgram, program_id: tuple[int, int, int]) -> None:
        """Begin the execution of a program of the launch."""

    def enter(self, block: OpBlock) -> None:
        """Begin, or go on with, a block of code."""

    def computed(self, step: Op, name: str, value: RuntimeValue) -> None:
        """Note a result of an operation, which is not known."""

    def constant(self, number: float, type_: Type) -> RuntimeValue:
        """Return a float constant."""

    def argument(self, name: str, type_: Type, number: float | None) -> RuntimeValue:
        """Return an argument of the kernel that is no pointer and no known integer."""

    def compute(self, step: Op, operands: Sequence[RuntimeValue]) -> RuntimeValue:
        """Return the result of an element-wise operation, some of whose operands are not known."""

    def select(
        self, step: Op, condition: RuntimeValue, one: RuntimeValue, other: RuntimeValue
    ) -> RuntimeValue:
        """Return `one` where the condition holds, else `other`."""

    def moved(
        self, value: RuntimeValue, type_: Type, change: Callable[[Array], Array] | None, in_thread: bool
    ) -> RuntimeValue:
        """Return a value whose elements change their places (None: none does).

        `in_thread`: none changes its thread.
        """

    def hidden(self, value: RuntimeValue) -> RuntimeValue:
        """Return a value as one that is not known, with nothing left to compute."""

    def carried(self, value: RuntimeValue) -> RuntimeValue:
        """Return a value as the next block of code sees it."""

    def load(
        self,
        step: Op,
        address: RuntimeValue,
        mask: RuntimeValue | None,
        other: RuntimeValue | None,
        type_: Type,
    ) -> RuntimeValue:
        """Return what is at addresses of global memory."""

    def store(self, step: Op, address: RuntimeValue, value: RuntimeValue, mask: RuntimeValue | None) -> None:
        """Write to global memory."""

    def atomic(
        self, step: Op, address: RuntimeValue, values: Sequence[RuntimeValue], mask: RuntimeValue | None
    ) -> RuntimeValue | None:
        """Change global memory by an atomic operation; return what was there."""

    def reduce(self, step: Op, operands: Sequence[RuntimeValue], combine: Combine) -> list[RuntimeValue]:
        """Return the results of `tt.reduce`."""

    def scan(self, step: Op, operands: Sequence[RuntimeValue], combine: Combine) -> list[RuntimeValue]:
        """Return the results of `tt.scan`."""

    def undecided(self, step: Op, begins: bool) -> bool:
        """Begin, or end, code of which data decide whether it runs.

        Returns False if the domain does not follow it: the program cannot be executed.
        """

    def repeated(self, step: Op, times: range, carried: Sequence[RuntimeValue]) -> None:
        """Note that a loop ended, after so many iterations; `carried` is what it hands over."""

    def histogram(self, step: Op, value: RuntimeValue, mask: RuntimeValue | None) -> RuntimeValue:
        """Return the result of `tt.histogram`."""

    def gather(self, step: Op, source: RuntimeValue, index: RuntimeValue) -> RuntimeValue:
        """Return the elements of `source` at indices that are not known."""

    def dot(self, step: Op, a: RuntimeValue, b: RuntimeValue, accumulator: RuntimeValue) -> RuntimeValue:
        """Return the accumulator plus the product of two matrices."""


class UnnotedDomain:
    """A base of domains that ignore which code is executed."""

    def enter(self, block: OpBlock) -> None:
        """Ignore which block is executed."""

    def computed(self, step: Op, name: str, value: RuntimeValue) -> None:
        """Ignore the results of operations."""

    def repeated(self, step: Op, times: range, carried: Sequence[RuntimeValue]) -> None:
        """Ignore that a loop ended."""

    def carried(self, value: RuntimeValue) -> RuntimeValue:
        """Return a value as the next block of code sees it: as it is."""
        return value
