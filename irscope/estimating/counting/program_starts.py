"""The first address of each access in many programs: one thread of a warp is interpreted, each loop once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.interpreter import Interpreter
from irscope.estimating.counting.lanes import Array, Value, storage
from irscope.estimating.counting.launch_arguments import LaunchArguments
from irscope.estimating.counting.ptx_program import PtxProgram
from irscope.estimating.counting.steps import Access, Exit, Space, Step, Steps
from irscope.estimating.counting.tensor_copies import tensor_address
from irscope.languages.control_flow import NONE

Mask = NDArray[np.bool_]


class ProgramStarts(Interpreter):
    """Interprets the first thread of `programs` programs, or of each of their `warps`."""

    def __init__(
        self,
        program: PtxProgram,
        steps: Steps,
        values: Mapping[int, Array],
        arguments: LaunchArguments,
        programs: int,
        warps: int,
    ) -> None:
        super().__init__(program, steps, values, arguments, programs, warps)
        self._loops.tracing = False
        self.starts: dict[int, Array] = {}
        self._stored_last: list[Value] = []

    def _warps(self, mask: Mask) -> NDArray[np.int64]:
        return np.zeros(self.programs, np.int64)

    def _arrive(self, block: int, mask: Mask) -> None:
        """No loop is repeated."""

    def _count(self, access: Access, active: Mask | None) -> str:
        reads = access.source or access
        if reads.space is Space.GLOBAL:
            address = self.registers[reads.address]
            if address is not None:
                self._note(self._number[id(reads)], address.astype(np.int64) + reads.offset, active)
        return ""

    def _tensor_copy(self, step: Step, active: Mask | None) -> None:
        if step.copy is not None:
            address = tensor_address(step.copy, self.registers, self.arguments)
            if address is not None:
                number = len(self.steps.accesses) + self._copy_number[id(step.copy)]
                self._note(number, address, active)

    def _loaded(self, step: Step, access: Access, active: Mask | None) -> Sequence[Value]:
        """Loads from shared memory return what this thread stored last: stores of other threads are unknown.

        Programs that store the same then load the same, as those that gather by the same indices do.
        """
        if access.space is Space.SHARED and self.threads == 1:
            known = [value for value in self._stored_last if value is not None]
            kind = storage(access.register)
            return [known[at % len(known)].astype(kind) if known else None for at in range(len(step.results))]
        return super()._loaded(step, access, active)

    def _store(self, access: Access, active: Mask | None) -> None:
        if access.space is Space.SHARED and self.threads == 1:
            self._stored_last = [self.registers[at] for at in access.data]
        super()._store(access, active)

    def _note(self, number: int, address: Array, active: Mask | None) -> None:
        """Notes the address of each program's first active thread."""
        if number in self.starts:
            return
        everyone = self.programs, self.threads
        lanes = np.zeros(self.programs, np.int64)
        if active is not None:
            lanes = np.argmax(np.broadcast_to(active, everyone), axis=1)
        wide = np.broadcast_to(address, everyone)
        self.starts[number] = np.take_along_axis(wide, lanes[:, None], axis=1)

    def _leave(self, block: int, mask: Mask) -> list[tuple[int, Mask]]:
        """Leaves a loop instead of going back."""
        found = super()._leave(block, mask)
        own = self._position.get(block, 0)
        forward = [(at, threads) for at, threads in found if self._position.get(at, 0) > own]
        if len(forward) == len(found):
            return found
        ending: Exit = self.steps.exits[block]
        others = [at for at in (ending.taken, ending.otherwise) if at != NONE and self._position[at] > own]
        return [(others[0], mask)] if others else []
