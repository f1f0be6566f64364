"""What Triton's coalescing pass printed of each load and store (`irscope compile --reasons`), read.

The pass runs twice: over TTIR's operations first, then over the asynchronous copies that the pipeliner
made of some. What it says comes operation by operation, in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.axis_info import shape_of
from irscope.languages.document import Document

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


def parse_reasons(text: str) -> list[CoalescingDecision]:
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


def match_reasons(reasons: Sequence[CoalescingDecision], ttir: Document) -> Mapping[int, CoalescingDecision]:
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
