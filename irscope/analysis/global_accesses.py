"""The global loads and stores of TTIR, and the limit on how many elements each thread accesses at once.

One instruction moves at most 16 bytes per thread, and no more than the pointer's contiguity and
divisibility, the mask's constancy and the number of elements per thread allow (lib/Dialect/TritonGPU
/Transforms/Coalesce.cpp and lib/Conversion/*/LoadStoreOpToLLVM.cpp of Triton).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from irscope.analysis.axis_flow import ALIGNED, AxisFlow
from irscope.analysis.axis_info import AxisInfo, pointee_bytes
from irscope.analysis.instruction_mix import KernelPlace
from irscope.analysis.source_map import kernel_place
from irscope.diff.def_use import Definition
from irscope.languages.document import Document
from irscope.model.frozen_value import FrozenValue

WIDEST = 16  # bytes
_KINDS = {"tt.load": "global load", "tt.store": "global store"}
_MASK_OPERAND = {"tt.load": 1, "tt.store": 2}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GlobalAccess(FrozenValue):
    """One `tt.load` or `tt.store`.

    `index` is the index of the operation; `kind` is "global load" or "global store"; `pointers` are the
    parameters that it points into; `size` is the size of an element in bytes.
    """

    index: int
    kind: str
    place: KernelPlace
    pointer: Definition
    mask: Definition | None
    pointers: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WidthLimits(FrozenValue):
    """How many elements one thread can access at once: by the pointer, by the mask, and by its share."""

    pointer: int
    mask: int
    share: int

    @property
    def width(self) -> int:
        """The smallest limit."""
        return min(self.pointer, self.mask, self.share)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Blame(FrozenValue):
    """The parameters whose unknown divisibility narrows an access, of the pointer and of the mask."""

    pointer: tuple[str, ...]
    mask: tuple[str, ...]


def global_accesses(ttir: Document, flow: AxisFlow) -> list[GlobalAccess]:
    """The loads and stores through pointers, in the order of the text."""
    found = []
    for index, operation in enumerate(ttir.operations):
        operands = flow.sources[index]
        pointer = operands[0] if operands else None
        if operation.opcode not in _KINDS or pointer is None:
            continue
        at = _MASK_OPERAND[operation.opcode]
        parameters = flow.parameters
        origins = sorted(flow.origins(pointer, pointer=True) & parameters.keys())
        found.append(
            GlobalAccess(
                index,
                _KINDS[operation.opcode],
                kernel_place(operation.location),
                pointer,
                operands[at] if len(operands) > at else None,
                tuple(parameters[origin].name for origin in origins if parameters[origin].pointer),
                pointee_bytes(operation.normalized),
            )
        )
    return found


def width_limits(
    access: GlobalAccess, infos: Mapping[Definition, AxisInfo], threads: int
) -> WidthLimits | None:
    """The limits of an access according to `infos`, in a block of `threads`; None if they are unknown."""
    info = infos.get(access.pointer)
    if info is None:
        return None
    # The dimension that is first in the layout's order: the most contiguous, the last of equals.
    dimension = max(range(len(info.shape)), key=lambda at: (info.contiguity[at], at))
    aligned = max(1, info.divisibility[dimension] // access.size)
    run = min(info.contiguity[dimension], info.shape[dimension])
    mask = infos.get(access.mask) if access.mask is not None else None
    if access.mask is not None and (mask is None or mask.shape != info.shape):
        return None
    return WidthLimits(
        pointer=max(1, min(aligned, run, WIDEST // access.size)),
        mask=WIDEST if mask is None else mask.constancy[dimension],
        share=max(1, prod(info.shape) // threads),
    )


def blamed(access: GlobalAccess, flow: AxisFlow, threads: int) -> Blame:
    """A minimal set of parameters that would widen the access if they were known to be divisible by 16."""
    into = flow.origins(access.pointer)
    masking = flow.origins(access.mask) if access.mask is not None else frozenset()
    suspects = _unaligned(into | masking, flow)
    widest = _width(access, flow, suspects, threads)
    if widest <= _width(access, flow, (), threads):
        return Blame((), ())
    needed = suspects
    for value in suspects:
        fewer = [other for other in needed if other != value]
        if _width(access, flow, fewer, threads) == widest:
            needed = fewer
    return _blame(access, flow, needed)


def unit_stride(access: GlobalAccess, flow: AxisFlow, threads: int) -> tuple[str, ...]:
    """Return the integer parameters that would widen the access if they were known to be 1.

    They are strides: with one of them equal to 1, neighboring elements are next to each other in memory.
    """
    into = flow.origins(access.pointer)
    suspects = _unaligned(into, flow)
    widest = _width(access, flow, suspects, threads)
    return tuple(
        flow.parameters[value].name
        for value in sorted(into)
        if flow.parameters[value].integer and _width(access, flow, suspects, threads, value) > widest
    )


def _unaligned(values: Iterable[Definition], flow: AxisFlow) -> list[Definition]:
    """Return the parameters that could be divisible by 16, but are not known to be."""
    return [
        value
        for value in sorted(values)
        if (parameter := flow.parameters[value]).divisibility % ALIGNED
        and (parameter.pointer or parameter.integer)
    ]


def _blame(access: GlobalAccess, flow: AxisFlow, needed: Sequence[Definition]) -> Blame:
    into, names = flow.origins(access.pointer), flow.parameters
    return Blame(
        tuple(names[value].name for value in needed if value in into),
        tuple(names[value].name for value in needed if value not in into),
    )


def _width(
    access: GlobalAccess,
    flow: AxisFlow,
    aligned: Sequence[Definition],
    threads: int,
    one: Definition | None = None,
) -> int:
    found = width_limits(access, flow.infos(frozenset(aligned), one), threads)
    return found.width if found else 0
