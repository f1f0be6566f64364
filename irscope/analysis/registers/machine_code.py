"""The registers of one assembly stage: liveness, and definitions through copies and through the stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from irscope.analysis.registers.definitions import Definitions
from irscope.analysis.registers.liveness import Liveness, liveness
from irscope.languages.control_flow import control_flow
from irscope.languages.document import Document
from irscope.languages.language_registry import language_named
from irscope.languages.registers import NO_ACCESS, RegisterAccess, RegisterUse
from irscope.model.frozen_value import FrozenValue


@dataclass(frozen=True, eq=False, repr=False)
class MachineCode(FrozenValue):
    """The registers of a document in an assembly language."""

    document: Document
    use: RegisterUse
    liveness: Liveness

    @cached_property
    def reaching_stores(self) -> Mapping[int, Sequence[int]]:
        """For each reload with a known slot the stores whose value it may read, by operation."""
        accesses = [NO_ACCESS] * len(self.use.accesses)
        number: dict[int, int] = {}
        for access in self.use.stack:
            slots = sum(1 << number.setdefault(slot, len(number)) for slot in access.slots)
            certain = self.use.accesses[access.operation].certain
            reads, writes = (0, slots) if access.stores else (slots, 0)
            accesses[access.operation] = RegisterAccess(reads, writes, certain)
        definitions = Definitions(self.liveness.graph, accesses)
        return {
            access.operation: sorted(
                set().union(*definitions.before(access.operation, accesses[access.operation].reads).values())
            )
            for access in self.use.stack
            if access.slots and not access.stores
        }

    @cached_property
    def definitions(self) -> Definitions:
        """The definitions of registers, through copies and through the stack."""
        passes_on = {at: [(at, source)] for at, source in self.use.copies.items()}
        stored = {access.operation: access.stored for access in self.use.stack if access.stores}
        for reload, stores in self.reaching_stores.items():
            passes_on[reload] = [(at, stored[at]) for at in stores]
        return Definitions(self.liveness.graph, self.use.accesses, passes_on)


def machine_code(document: Document) -> MachineCode | None:
    """The registers of an assembly stage; None for other languages and for texts too tangled to know."""
    read = language_named(document.language).registers
    if read is None or not document.operations:
        return None
    use = read(document)
    live = liveness(control_flow(document), use.accesses, use.file)
    return None if live is None else MachineCode(document, use, live)
