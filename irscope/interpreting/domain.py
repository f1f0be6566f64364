"""What the machine asks a domain: what floats, loads, stores, reductions and products are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from irscope.interpreting.program import Block, Program, Step, Type
from irscope.interpreting.values import Array, Value

# Combines the operands of two partial results, as the region of a `tt.reduce` says.
Combine = Callable[[Sequence[Value]], list[Value]]


class Domain(Protocol):
    """The meaning of everything that is no known integer."""

    def begin(self, program: Program, program_id: tuple[int, int, int]) -> None:
        """Begin the execution of a program of the launch."""

    def enter(self, block: Block) -> None:
        """Begin, or go on with, a block of code."""

    def constant(self, number: float, type_: Type) -> Value:
        """Return a float constant."""

    def argument(self, name: str, type_: Type, number: float | None) -> Value:
        """Return an argument of the kernel that is no pointer and no known integer."""

    def compute(self, step: Step, operands: Sequence[Value]) -> Value:
        """Return the result of an element-wise operation, some of whose operands are not known."""

    def select(self, step: Step, condition: Value, one: Value, other: Value) -> Value:
        """Return `one` where the condition holds, else `other`."""

    def moved(
        self, value: Value, type_: Type, change: Callable[[Array], Array] | None, in_thread: bool
    ) -> Value:
        """Return a value whose elements change their places (None: none does).

        `in_thread`: none changes its thread.
        """

    def hidden(self, value: Value) -> Value:
        """Return a known value as one that is not known."""

    def carried(self, value: Value) -> Value:
        """Return a value as the next block of code sees it."""

    def load(self, step: Step, address: Value, mask: Value | None, other: Value | None, type_: Type) -> Value:
        """Return what is at addresses of global memory."""

    def store(self, step: Step, address: Value, value: Value, mask: Value | None) -> None:
        """Write to global memory."""

    def atomic(self, step: Step, address: Value, values: Sequence[Value], mask: Value | None) -> Value | None:
        """Change global memory by an atomic operation; return what was there."""

    def reduce(self, step: Step, operands: Sequence[Value], combine: Combine) -> list[Value]:
        """Return the results of `tt.reduce`."""

    def scan(self, step: Step, operands: Sequence[Value], combine: Combine) -> list[Value]:
        """Return the results of `tt.scan`."""

    def histogram(self, step: Step, value: Value, mask: Value | None) -> Value:
        """Return the result of `tt.histogram`."""

    def gather(self, step: Step, source: Value, index: Value) -> Value:
        """Return the elements of `source` at indices that are not known."""

    def dot(self, step: Step, a: Value, b: Value, accumulator: Value, scales: Sequence[Value]) -> Value:
        """Return the accumulator plus the product of two matrices."""
