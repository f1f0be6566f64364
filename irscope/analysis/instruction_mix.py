"""Counts the instructions of one line of the kernel by kind, and names the line after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irscope.backends import backend_with_assembly
from irscope.backends.instructions import InstructionKind, scan
from irscope.facts.fact import Evidence
from irscope.languages.document import Document, Location
from irscope.model import Kernel

KernelPlace = tuple[str, int] | None  # file and line of the kernel itself; None: unknown


@dataclass(slots=True)
class InstructionMix:
    """How many instructions of each kind a place has, and their lines in the stage."""

    counts: dict[InstructionKind, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)

    def evidence(self, stage: str) -> tuple[Evidence, ...]:
        """The lines as evidence."""
        return tuple(Evidence(stage, line) for line in self.lines)

    @property
    def width(self) -> int:
        """The width of the widest access in bytes; 0 if there are none."""
        return max((kind.width for kind in self.counts), default=0)


def instructions_by_line(document: Document, stage: str) -> Mapping[tuple[str, KernelPlace], InstructionMix]:
    """The instructions of an assembly stage by kind and the place that they were made from."""
    found: dict[tuple[str, KernelPlace], InstructionMix] = {}
    backend = backend_with_assembly(stage)
    if backend is None:
        return found
    for kind, lines in scan(document.text, backend.instruction_set()).lines.items():
        for line in lines:
            work = found.setdefault((kind.kind, _place_of(document, line)), InstructionMix())
            work.counts[kind] = work.counts.get(kind, 0) + 1
            work.lines.append(line)
    return found


def kernel_place(location: Location | None) -> KernelPlace:
    """The place in the kernel itself: of the outermost call if the location is inlined."""
    return None if location is None else (location.outermost.file, location.outermost.line)


def place_text(place: KernelPlace, kernel: Kernel, of: str = "") -> str:
    """`of line 14 (x = tl.load(x_ptr))`, or with `of` `of x_ptr (line 14: x = tl.load(x_ptr))`."""
    if place is None:
        return f"of {of or 'unknown lines'}"
    file, line = place
    lines = kernel.source.text.split("\n")
    index = line - kernel.source.line
    same_file = file.rpartition("/")[2] == kernel.source.file.rpartition("/")[2]
    source = lines[index].strip()[:60] if same_file and 0 <= index < len(lines) else ""
    if of:
        return f"of {of} (line {line}: {source})" if source else f"of {of} (line {line})"
    return f"of line {line} ({source})" if source else f"of line {line}"


def place_subject(place: KernelPlace) -> str:
    """The subject of findings about a place: "line 14"."""
    return f"line {place[1]}" if place else ""


def _place_of(document: Document, line: int) -> KernelPlace:
    index = document.operation_of_line.get(line)
    return None if index is None else kernel_place(document.operations[index].location)
