"""The global loads and stores of TTIR, and the limit on how many elements each thread accesses at once.

One instruction moves at most 16 bytes per thread, and no more than the pointer's contiguity and
divisibility, the mask's constancy and the number of elements per thread allow (lib/Dialect/TritonGPU
/Transforms/Coalesce.cpp and lib/Conversion/*/LoadStoreOpToLLVM.cpp of Triton).

Why global loads and stores are narrower than 16 bytes, by line of the kernel.

Based on the axis info of TTIR and, if recorded, on the log of Triton's coalescing pass.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, fields
from math import prod
from typing import NamedTuple

from irscope.diff.def_use import Definition
from irscope.facts.accesses.axis_info import ALIGNED, AxisFlow, pointee_bytes, shape_of
from irscope.facts.instruction_mix import InstructionMix, KernelPlace
from irscope.facts.occupancy import threads_of
from irscope.facts.source.map import kernel_place
from irscope.languages.document import Document
from irscope.model import Variant
from irscope.model.records import frozen, grouped

WIDEST = 16  # bytes
_KINDS = {"tt.load": "global load", "tt.store": "global store"}
_MASK_OPERAND = {"tt.load": 1, "tt.store": 2}


class WidthLimits(NamedTuple):
    """How many elements one thread can access at once: by the pointer, by the mask, and by its share."""

    pointer: int
    mask: int
    share: int

    @property
    def width(self) -> int:
        """Return the smallest limit."""
        return min(self.pointer, self.mask, self.share)


class Blame(NamedTuple):
    """The parameters whose unknown divisibility narrows an access, of the pointer and of the mask."""

    pointer: tuple[str, ...]
    mask: tuple[str, ...]


@frozen
class GlobalAccess:
    """One `tl.load` or `tl.store`.

    `index` is the index of the operation; `kind` is "global load" or "global store"; `pointers` are the
    parameters that it points into; `size` is the size of an element in bytes. `flow` is the axis info of its
    module.
    """

    index: int
    kind: str
    place: KernelPlace
    pointer: Definition
    mask: Definition | None
    pointers: tuple[str, ...]
    size: int
    flow: AxisFlow

    def limits(
        self, threads: int, aligned: Iterable[Definition] = (), one: Definition | None = None
    ) -> WidthLimits | None:
        """Return its limits in a block of `threads`, or None if they are unknown.

        It is as if the parameters `aligned` were divisible by 16, and as if the parameter `one` were 1.
        """
        infos = self.flow.infos(frozenset(aligned), one)
        info = infos.get(self.pointer)
        if info is None:
            return None
        # The dimension that is first in the layout's order: the most contiguous, the last of equals.
        dimension, axis = max(enumerate(info.axes), key=lambda item: (item[1].contiguity, item[0]))
        fits = max(1, axis.divisibility // self.size)
        run = min(axis.contiguity, axis.size)
        mask = infos.get(self.mask) if self.mask is not None else None
        if self.mask is not None and (mask is None or mask.shape != info.shape):
            return None
        return WidthLimits(
            pointer=max(1, min(fits, run, WIDEST // self.size)),
            mask=WIDEST if mask is None else mask.axes[dimension].constancy,
            share=max(1, prod(info.shape) // threads),
        )

    def _width(self, threads: int, aligned: Iterable[Definition] = (), one: Definition | None = None) -> int:
        limits = self.limits(threads, aligned, one)
        return limits.width if limits else 0

    def blamed(self, threads: int) -> Blame:
        """Find a minimal set of parameters that would widen the access if divisible by 16."""
        into = self.flow.origins(self.pointer)
        masking = self.flow.origins(self.mask) if self.mask is not None else frozenset()
        needed = self._unaligned(into | masking)
        widest = self._width(threads, needed)
        if widest <= self._width(threads):
            return Blame((), ())
        for value in list(needed):
            fewer = [candidate for candidate in needed if candidate != value]
            if self._width(threads, fewer) == widest:
                needed = fewer
        names = self.flow.parameters
        return Blame(
            tuple(names[value].name for value in needed if value in into),
            tuple(names[value].name for value in needed if value not in into),
        )

    def unit_stride(self, threads: int) -> tuple[str, ...]:
        """Return the integer parameters that would widen the access if they were known to be 1.

        They are strides: with one of them equal to 1, neighboring elements are next to each other in memory.
        """
        into, parameters = self.flow.origins(self.pointer), self.flow.parameters
        suspects = self._unaligned(into)
        widest = self._width(threads, suspects)
        return tuple(
            parameters[value].name
            for value in sorted(into)
            if parameters[value].integer and self._width(threads, suspects, value) > widest
        )

    def _unaligned(self, values: Iterable[Definition]) -> list[Definition]:
        """Return the parameters that could be divisible by 16, but are not known to be."""
        return [
            value
            for value in sorted(values)
            if (parameter := self.flow.parameters[value]).divisibility % ALIGNED
            and (parameter.pointer or parameter.integer)
        ]


def global_accesses(flow: AxisFlow) -> list[GlobalAccess]:
    """Return the loads and stores through pointers, in the order of the text."""
    accesses, parameters = [], flow.parameters
    for index, operation in enumerate(flow.operations):
        pointer, *others = flow.sources[index] or (None,)
        if operation.opcode not in _KINDS or pointer is None:
            continue
        origins = sorted(flow.origins(pointer, pointer=True) & parameters.keys())
        accesses.append(
            GlobalAccess(
                index,
                _KINDS[operation.opcode],
                kernel_place(operation.location),
                pointer,
                next(iter(others[_MASK_OPERAND[operation.opcode] - 1 :]), None),
                tuple(parameters[origin].name for origin in origins if parameters[origin].pointer),
                pointee_bytes(operation.normalized),
                flow,
            )
        )
    return accesses


Key = tuple[str, KernelPlace]  # "global load" or "global store", and its place

_DESCRIPTOR_ACCESS = re.compile(r"tt\.descriptor_(?:load|gather|store|scatter|reduce)\b")
# MLIR makes names of values unique with a number.
_UNIQUE = re.compile(r"_\d+$")
# A line with more pointers is described without them.
_MOST_POINTERS = 3
# Three times the largest of 3,290 real kernels; the time grows faster than the text.
_MOST_OPERATIONS = 5_000


@frozen
class MemoryUse:
    """The global loads and stores of a variant according to TTIR, by kind and place.

    `pointers` names the parameters that they point into ("x_ptr and y_ptr"), and the descriptors of
    asynchronous copies; `narrow` says why they move less than 16 bytes at once, if known. `strided`
    has the parameters of which one would have to be 1 for more, which matters only next to a variant
    that knows it.
    """

    pointers: Mapping[Key, str] = field(default_factory=dict)
    narrow: Mapping[Key, str] = field(default_factory=dict)
    strided: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)


def memory_use(variant: Variant, ttir: Document, work: Mapping[Key, InstructionMix]) -> MemoryUse:
    """Return the memory use of a variant.

    `work` is what its assembly does: a reason that implies another width than the assembly has is
    left out.
    """
    if len(ttir.operations) > _MOST_OPERATIONS:
        return MemoryUse()
    flow = AxisFlow(ttir)
    pointers, narrow, strided = _descriptors(ttir), {}, {}
    by_key = grouped(global_accesses(flow), lambda access: (access.kind, access.place))
    decisions = match_decisions(parse_decisions(variant.reasons or ""), ttir)
    threads = threads_of(variant)
    for key, accesses in by_key.items():
        names = list(dict.fromkeys(name for access in accesses for name in access.pointers))
        if names and len(names) <= _MOST_POINTERS:
            pointers[key] = _listed(names)
            if key[0] == "global load" and ("scalar load", key[1]) in work:
                pointers["scalar load", key[1]] = pointers[key]
        width = work[key].width if key in work else WIDEST
        reasons = {_reason(access, threads, width, decisions) for access in accesses} if threads else set()
        # The sentence is about the line, so the reason must hold for all of its accesses.
        if len(reasons) == 1 and (reason := reasons.pop()):
            narrow[key] = reason
        elif threads:
            strides = {access.unit_stride(threads) for access in accesses}
            if len(strides) == 1:
                strided[key] = strides.pop()
    return MemoryUse(pointers, narrow, strided)


def strides_text(names: Sequence[str], constants: Collection[str]) -> str:
    """Return `sn is not known to be 1`, or "" without names.

    Any of `names` would do. If some of them are among `constants`, which the other variant knows to be 1,
    they are the ones to name.
    """
    chosen = [name for name in names if name in constants] or list(names)
    if len(chosen) > 1:
        return f"none of {_listed(chosen)} is known to be 1"
    return f"{chosen[0]} is not known to be 1" if chosen else ""


def _descriptors(ttir: Document) -> dict[Key, str]:
    """Return the descriptors that each place loads and stores by; numbers are no names."""
    names: dict[Key, dict[str, None]] = {}
    for operation in ttir.operations:
        if _DESCRIPTOR_ACCESS.match(operation.opcode) and operation.operands:
            name = descriptor_name(operation.operands[0])
            names.setdefault(("async copy", kernel_place(operation.location)), {})[name] = None
    return {
        key: _listed(list(descriptors))
        for key, descriptors in names.items()
        if len(descriptors) <= _MOST_POINTERS and not any(name.isdecimal() for name in descriptors)
    }


def descriptor_name(value: str) -> str:
    """Return the variable that a value of TTIR or TTGIR is named after: `%a_desc_25` is `a_desc`."""
    return _UNIQUE.sub("", value.removeprefix("%"))


def _reason(
    access: GlobalAccess, threads: int, width: int, decisions: Mapping[int, CoalescingDecision]
) -> str:
    """Say why the access is `width` bytes wide and not 16; "" if that is unknown."""
    limits = access.limits(threads)
    if limits is None or width >= WIDEST or limits.width * access.size != width:
        return ""
    text = _blame_text(access.blamed(threads))
    reason = decisions.get(access.index)
    if reason is None or limits.pointer > limits.mask or limits.pointer >= limits.share:
        return text
    knew = _knew_text(access, reason)
    return f"{text} ({knew})" if text and knew else text or knew


def _blame_text(blame: Blame) -> str:
    """Return `the mask compares with n, which is not known to be divisible by 16`; "" without cause."""
    divisible = f"not known to be divisible by {ALIGNED}"
    if blame.mask and not blame.pointer:
        return f"the mask compares with {_listed(blame.mask)}, which {_are(blame.mask)} {divisible}"
    names = [*blame.pointer, *(f"the mask's {name}" for name in blame.mask)]
    return f"{_listed(names)} {_are(names)} {divisible}" if names else ""


def _knew_text(access: GlobalAccess, reason: CoalescingDecision) -> str:
    """Name the property of the pointer that limited the access."""
    dimension = max(range(len(reason.shape)), key=lambda at: (reason.contiguity[at], at))
    pointer = f"{_listed(access.pointers)} + ..." if access.pointers else "the pointer"
    properties = [
        ("contiguity", reason.contiguity[dimension], 1),
        ("divisibility", reason.divisibility[dimension], access.size),
    ]
    limiting = [f"{name} {value}" for name, value, unit in properties if value <= reason.pointer_limit * unit]
    return f"the compiler knew {' and '.join(limiting)} of {pointer}" if limiting else ""


def _listed(names: Iterable[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _are(names: Iterable[str]) -> str:
    return "are" if len(list(names)) > 1 else "is"


# The operations of TTIR that the pass considers if they take a tensor of pointers.
_CONSIDERED = ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas")
_MARK = "[tritongpu-coalesce]: "
_OPERATION = re.compile(r"Considering op: (?:%[\w#:]{1,99} = )?\"?([a-z_]+\.[a-z_]+)")
_NUMBERS = re.compile(r"(contiguity|divisibility|constancy) = \[(\d{1,19}(?:, \d{1,19}){0,9})\]")
_PER_THREAD = re.compile(r"perThread( for op)?: (\d{1,9})$")


@frozen
class CoalescingDecision:
    """The compiler's knowledge about the pointer of one operation, and its decision.

    `contiguity` (elements), `divisibility` (bytes) and `constancy` (elements) have one entry per dimension.
    They allow one thread to access `pointer_limit` elements at once; the layout gives it `per_thread`
    elements, but no more than its share of the tensor.
    """

    opcode: str
    shape: tuple[int, ...]
    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    pointer_limit: int
    per_thread: int


def parse_decisions(text: str) -> list[CoalescingDecision]:
    """Parse the decisions in the log `text`, in order. Skips what it does not recognize; never fails."""
    decisions: list[CoalescingDecision] = []
    values: dict[str, object] = {}
    for line in text.splitlines():
        message = line.removeprefix(_MARK)
        if match := _OPERATION.match(message):
            decisions += _finished(values)
            values = {"opcode": match[1], "shape": shape_of(message[match.end() :])}
        elif match := _PER_THREAD.match(message):
            values["pointer_limit" if match[1] else "per_thread"] = int(match[2])
        elif message.startswith("axis info of pointer"):
            for name, numbers in _NUMBERS.findall(message):
                values[name] = tuple(map(int, numbers.split(", ")))
    return [*decisions, *_finished(values)]


def match_decisions(
    decisions: Sequence[CoalescingDecision], ttir: Document
) -> Mapping[int, CoalescingDecision]:
    """Map the index of each TTIR operation to its decision; empty if they do not match the text."""
    considered = [
        (index, operation)
        for index, operation in enumerate(ttir.operations)
        if operation.opcode in _CONSIDERED and "tensor<" in operation.normalized
    ]
    if len(considered) > len(decisions):
        return {}
    pairs = list(zip(considered, decisions, strict=False))
    for (_, operation), decision in pairs:
        if operation.opcode != decision.opcode or shape_of(operation.normalized) != decision.shape:
            return {}
    return {index: decision for (index, _), decision in pairs}


def _finished(values: Mapping[str, object]) -> list[CoalescingDecision]:
    """Return the reason that was read, if it is whole and its parts fit each other."""
    if len(values) != len(fields(CoalescingDecision)):
        return []
    reason = CoalescingDecision(**values)  # type: ignore[arg-type]
    sizes = {len(reason.shape), len(reason.contiguity), len(reason.divisibility), len(reason.constancy)}
    return [reason] if len(sizes) == 1 else []
