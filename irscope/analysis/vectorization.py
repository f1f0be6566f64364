"""Why a variant's global loads and stores are narrower than 16 bytes, by line of the kernel, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from irscope.analysis.axis_flow import ALIGNED, AxisFlow
from irscope.analysis.axis_info import shape_of
from irscope.analysis.global_accesses import (
    WIDEST,
    Blame,
    GlobalAccess,
    blamed,
    global_accesses,
    width_limits,
)
from irscope.analysis.instruction_mix import InstructionMix, KernelPlace
from irscope.facts.occupancy import threads_of
from irscope.languages.document import Document
from irscope.model import Variant

Key = tuple[str, KernelPlace]  # "global load" or "global store", and its place

# More pointers than these in one line say nothing.
_MOST_POINTERS = 3
# Three times what the largest of 3,290 real kernels has; the time grows faster than the text.
_MOST_OPERATIONS = 5_000


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What TTIR says of the global loads and stores of a variant, by kind and place.

    `pointers` names the parameters that they point into ("x_ptr and y_ptr"); `narrow` says why they
    move less than 16 bytes at once, where that is known.
    """

    pointers: Mapping[Key, str] = field(default_factory=dict)
    narrow: Mapping[Key, str] = field(default_factory=dict)


def memory_use(variant: Variant, ttir: Document, work: Mapping[Key, InstructionMix]) -> MemoryUse:
    """The memory use of a variant. `work` is what its assembly does: a reason that would give another
    width than the one that is there is left out.
    """
    if len(ttir.operations) > _MOST_OPERATIONS:
        return MemoryUse()
    flow = AxisFlow(ttir)
    by_key: dict[Key, list[GlobalAccess]] = {}
    for access in global_accesses(ttir, flow):
        by_key.setdefault((access.kind, access.place), []).append(access)
    told = match_decisions(parse_decisions(variant.reasons or ""), ttir)
    threads = threads_of(variant)
    pointers, narrow = {}, {}
    for key, own in by_key.items():
        names = list(dict.fromkeys(name for access in own for name in access.pointers))
        if names and len(names) <= _MOST_POINTERS:
            pointers[key] = _listed(names)
        width = work[key].width if key in work else WIDEST
        reasons = {_reason(access, flow, threads, width, told) for access in own} if threads else set()
        # All accesses of the line, or none: the sentence is about the line.
        if len(reasons) == 1 and (reason := reasons.pop()):
            narrow[key] = reason
    return MemoryUse(pointers, narrow)


def _reason(
    access: GlobalAccess, flow: AxisFlow, threads: int, width: int, told: Mapping[int, CoalescingDecision]
) -> str:
    """Why the access is `width` bytes wide and not 16; "" where that is not known."""
    found = width_limits(access, flow.infos(), threads)
    if found is None or width >= WIDEST or found.width * access.size != width:
        return ""
    text = _blame_text(blamed(access, flow, threads))
    reason = told.get(access.index)
    if reason is None or found.pointer > found.mask or found.pointer >= found.share:
        return text
    knew = _knew_text(access, reason)
    return f"{text} ({knew})" if text and knew else text or knew


def _blame_text(blame: Blame) -> str:
    """`the mask compares with n, which is not known to be divisible by 16`; "" where nothing is to blame."""
    divisible = f"not known to be divisible by {ALIGNED}"
    if blame.mask and not blame.pointer:
        return f"the mask compares with {_listed(blame.mask)}, which {_are(blame.mask)} {divisible}"
    names = [*blame.pointer, *(f"the mask's {name}" for name in blame.mask)]
    return f"{_listed(names)} {_are(names)} {divisible}" if names else ""


def _knew_text(access: GlobalAccess, reason: CoalescingDecision) -> str:
    """What the compiler knew of the pointer along its most contiguous dimension, as far as that limits it."""
    dimension = max(range(len(reason.shape)), key=lambda at: (reason.contiguity[at], at))
    pointer = f"{_listed(access.pointers)} + ..." if access.pointers else "the pointer"
    known = [
        ("contiguity", reason.contiguity[dimension], 1),
        ("divisibility", reason.divisibility[dimension], access.size),
    ]
    limiting = [f"{name} {value}" for name, value, unit in known if value <= reason.pointer_limit * unit]
    return f"the compiler knew {' and '.join(limiting)} of {pointer}" if limiting else ""


def _listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _are(names: Iterable[str]) -> str:
    return "are" if len(list(names)) > 1 else "is"


# The operations of TTIR that the pass looks at, where they take a tensor of pointers.
_CONSIDERED = ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas")
_MARK = "[tritongpu-coalesce]: "
_OPERATION = re.compile(r"Considering op: (?:%[\w#:]{1,99} = )?\"?([a-z_]+\.[a-z_]+)")
_NUMBERS = re.compile(r"(contiguity|divisibility|constancy) = \[(\d{1,19}(?:, \d{1,19}){0,9})\]")
_PER_THREAD = re.compile(r"perThread( for op)?: (\d{1,9})$")


@dataclass(frozen=True, slots=True)
class CoalescingDecision:
    """What the compiler knew of one operation's pointer, and what it made of it.

    `contiguity` (elements), `divisibility` (bytes) and `constancy` (elements) have an entry a dimension.
    `pointer_limit` is how many elements one thread may access at once by that, `per_thread` how many
    the layout gives it: no more than there are for each thread.
    """

    opcode: str
    shape: tuple[int, ...]
    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    pointer_limit: int
    per_thread: int


def parse_decisions(text: str) -> list[CoalescingDecision]:
    """The reasons in `text`, in order. What is not understood is left out; never fails."""
    found: list[CoalescingDecision] = []
    fields: dict[str, object] = {}
    for line in text.splitlines():
        said = line.removeprefix(_MARK)
        if match := _OPERATION.match(said):
            found += _finished(fields)
            fields = {"opcode": match[1], "shape": shape_of(said[match.end() :])}
        elif match := _PER_THREAD.match(said):
            fields["pointer_limit" if match[1] else "per_thread"] = int(match[2])
        elif said.startswith("axis info of pointer"):
            for name, numbers in _NUMBERS.findall(said):
                fields[name] = tuple(map(int, numbers.split(", ")))
    return [*found, *_finished(fields)]


def match_decisions(
    reasons: Sequence[CoalescingDecision], ttir: Document
) -> Mapping[int, CoalescingDecision]:
    """The reasons by the index of the TTIR operation they are about; none where they do not fit the text."""
    considered = [
        (index, operation)
        for index, operation in enumerate(ttir.operations)
        if operation.opcode in _CONSIDERED and "tensor<" in operation.normalized
    ]
    if len(considered) > len(reasons):
        return {}
    pairs = list(zip(considered, reasons, strict=False))
    for (_, operation), reason in pairs:
        if operation.opcode != reason.opcode or shape_of(operation.normalized) != reason.shape:
            return {}
    return {index: reason for (index, _), reason in pairs}


def _finished(fields: Mapping[str, object]) -> list[CoalescingDecision]:
    """The reason that was read, if it is whole and its parts fit each other."""
    if len(fields) != len(CoalescingDecision.__slots__):
        return []
    reason = CoalescingDecision(**fields)  # type: ignore[arg-type]
    sizes = {len(reason.shape), len(reason.contiguity), len(reason.divisibility), len(reason.constancy)}
    return [reason] if len(sizes) == 1 else []
