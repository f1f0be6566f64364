"""Findings by source line: what the instructions made of one line of the kernel do in A and in B."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from irscope.analysis.fact import Evidence
from irscope.analysis.finding import Finding, effect
from irscope.analysis.instructions import Doing, scan
from irscope.diff.rows import StageDiff
from irscope.ir.document import Document, Location
from irscope.model import Kernel

# How much a doubling of each matters, and what to call it.
_KINDS = {
    "global load": (10.0, "Global loads"),
    "global store": (8.0, "Global stores"),
    "matrix": (5.0, "Matrix instructions"),
    "async copy": (4.0, "Asynchronous copies"),
    "shared load": (3.0, "Shared memory loads"),
    "shared store": (3.0, "Shared memory stores"),
    "local load": (6.0, "Local memory loads"),
    "local store": (6.0, "Local memory stores"),
}
# A change of numbers alone follows the size of the tile; a change of width or kind does not.
_NUMBER_ONLY = 0.1

# TTGIR's operations between global memory and a thread: tt.load, amdg.buffer_store, ttg.async_copy_...
_MEMORY_OPERATION = re.compile(r"load|store|copy")
_ALIAS = re.compile(r"#\w+")

_Place = tuple[str, int] | None  # file and line of the kernel's own code; None: not known


@dataclass(slots=True)
class _Work:
    """What the instructions of one place do: how often each thing, and on which lines of the stage."""

    counts: dict[Doing, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)

    def evidence(self, stage: str) -> tuple[Evidence, ...]:
        return tuple(Evidence(stage, line) for line in self.lines)


def line_findings(diff: StageDiff, ttgir: StageDiff | None, kernel: Kernel) -> Iterator[Finding]:
    """A finding for each source line and kind of instruction that differ in the "ptx" or "amdgcn" diff.

    With the `ttgir` diff, another width is told with the layout that changed on the same line.
    """
    left, right = _work(diff.left, diff.stage), _work(diff.right, diff.stage)
    for kind, place in sorted(left.keys() | right.keys(), key=repr):
        a, b = left.get((kind, place), _Work()), right.get((kind, place), _Work())
        same_kinds = a.counts.keys() == b.counts.keys()
        # How many cp.async there are is told as global loads already.
        if a.counts == b.counts or (same_kinds and kind == "async copy" and not _bulk(a)):
            continue
        what = f"{_KINDS[kind][1]} {_place_text(place, kernel)}"
        text = f"{what} went from {_counts_text(a.counts)} to {_counts_text(b.counts)}"
        if ttgir and not same_kinds and kind.startswith("global"):
            text += _layout_text(ttgir, place)
        yield Finding(text, _weight(kind, a, b), kind, a.evidence(diff.stage), b.evidence(diff.stage))


def _bulk(work: _Work) -> bool:
    return any("bulk" in doing.name for doing in work.counts)


def _layout_text(ttgir: StageDiff, place: _Place) -> str:
    """How the layouts of that place's memory operations share out elements to threads, if that changed."""
    left, right = _memory_layouts(ttgir.left, place), _memory_layouts(ttgir.right, place)
    changes = [
        f"{change.left.alias} {name} {a} -> {b}"
        for change in ttgir.layouts
        if change.left and change.right and change.left.alias in left and change.right.alias in right
        for name, a, b in change.fields
        if name == "sizePerThread"
    ]
    return f": {', '.join(changes)}" if changes else ""


def _memory_layouts(document: Document, place: _Place) -> set[str]:
    """The aliases in the types of the loads, stores and copies that were made from a place."""
    lines = [
        document.lines[operation.line]
        for operation in document.operations
        if _MEMORY_OPERATION.search(operation.opcode) and _kernel_place(operation.location) == place
    ]
    return {alias for line in lines for alias in _ALIAS.findall(line)}


def _work(document: Document, stage: str) -> Mapping[tuple[str, _Place], _Work]:
    """The instructions of note in a stage, by kind and by the line of the kernel they were made from."""
    found: dict[tuple[str, _Place], _Work] = {}
    for doing, lines in scan(document.text, stage).lines.items():
        if doing.kind not in _KINDS:
            continue
        for line in lines:
            work = found.setdefault((doing.kind, _place_of(document, line)), _Work())
            work.counts[doing] = work.counts.get(doing, 0) + 1
            work.lines.append(line)
    return found


def _place_of(document: Document, line: int) -> _Place:
    index = document.operation_of_line.get(line)
    return None if index is None else _kernel_place(document.operations[index].location)


def _kernel_place(location: Location | None) -> _Place:
    return None if location is None else (location.outermost.file, location.outermost.line)


def _weight(kind: str, a: _Work, b: _Work) -> float:
    """By the width of an access, by the kind of a matrix instruction or copy; little by numbers alone."""
    importance = _KINDS[kind][0]
    number = effect(sum(a.counts.values()), sum(b.counts.values()))
    if not a.counts or not b.counts:
        return importance
    if a.counts.keys() == b.counts.keys():
        return importance * _NUMBER_ONLY * min(number, 10.0)
    if any(doing.width for doing in (*a.counts, *b.counts)):
        return importance * max(effect(_mean_width(a), _mean_width(b)), _NUMBER_ONLY)
    return importance * 0.5


def _mean_width(work: _Work) -> float:
    total = sum(doing.width * number for doing, number in work.counts.items())
    return total / sum(work.counts.values())


def _counts_text(counts: Mapping[Doing, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[0].width, item[0].name))
    return ", ".join(f"{n} x {doing.name or f'{doing.width}-byte'}" for doing, n in ordered) or "none"


def _place_text(place: _Place, kernel: Kernel) -> str:
    """`of line 14 (x = tl.load(x_ptr + offsets))`: the number, and the source where it is the kernel's."""
    if place is None:
        return "of no known line"
    file, line = place
    lines = kernel.source.text.split("\n")
    index = line - kernel.source.line
    same_file = file.rpartition("/")[2] == kernel.source.file.rpartition("/")[2]
    source = lines[index].strip() if same_file and 0 <= index < len(lines) else ""
    return f"of line {line} ({source[:60]})" if source else f"of line {line}"
