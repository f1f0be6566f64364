"""Whether a variant spills registers, in the terms of its backend.

A stack does not prove a spill: it may hold an array of the kernel. AMD spills vector registers to scratch
memory, and scalar registers to lanes of vector registers, without any stack.
"""

from __future__ import annotations

from irscope.facts.fact import Facts, number_of
from irscope.facts.registry import (
    BLOCKS_PER_SM,
    OCCUPANCY,
    REGISTERS,
    SCALAR_REGISTERS,
    SCALAR_SPILLS,
    SPILL_LOAD_BYTES,
    SPILL_STORE_BYTES,
    STACK,
    VECTOR_SPILLS,
)
from irscope.model.text import pluralize

REPORTED_SPILLS = (SPILL_STORE_BYTES, SPILL_LOAD_BYTES, VECTOR_SPILLS, SCALAR_SPILLS)
# Facts that spilling improves: fewer registers, and therefore more resident warps.
IMPROVED_BY_SPILLS = (REGISTERS, SCALAR_REGISTERS, OCCUPANCY, BLOCKS_PER_SM)


def reported_spills(facts: Facts) -> bool | None:
    """Whether ptxas or the AMD backend reports spills; None if that is unknown (no log of ptxas)."""
    known = [number for kind in REPORTED_SPILLS if (number := number_of(facts, kind)) is not None]
    return any(known) if known else None


def spills(facts: Facts) -> bool:
    """Whether the variant spills; if that is unknown, whether it has a stack."""
    reported = reported_spills(facts)
    return bool(number_of(facts, STACK)) if reported is None else reported


def spills_only_scalars(facts: Facts) -> bool:
    """Whether it spills only scalar registers, to lanes of vector registers and not to memory."""
    return spill_severity(facts)[:2] == (0, 0) and bool(number_of(facts, SCALAR_SPILLS))


def spill_severity(facts: Facts) -> tuple[float, float, float]:
    """Sorts variants by what they spill: bytes of stack, then vector registers, then scalar registers."""
    kinds = (STACK, VECTOR_SPILLS, SCALAR_SPILLS)
    a, b, c = (number_of(facts, kind) or 0.0 for kind in kinds)
    return a, b, c


def spilled_registers_text(facts: Facts) -> str:
    """AMD's spilled registers: "534 vector and 600 scalar registers"; "" if there are none or unknown."""
    vector, scalar = (int(number_of(facts, kind) or 0) for kind in (VECTOR_SPILLS, SCALAR_SPILLS))
    if vector and scalar:
        return f"{vector:,} vector and {pluralize(scalar, 'scalar register')}"
    if vector:
        return pluralize(vector, "vector register")
    return pluralize(scalar, "scalar register") if scalar else ""
