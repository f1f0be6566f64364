"""What the instructions made of one line of the kernel do, and how such a line is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irscope.backends import backend_with_assembly
from irscope.backends.instructions import InstructionKind, scan
from irscope.facts.fact import Evidence
from irscope.languages.document import Document, Location
from irscope.model import Kernel

KernelPlace = tuple[str, int] | None  # file and line of the kernel's own code; None: not known


@dataclass(slots=True)
class InstructionMix:
    """What the instructions of one place do: how often each thing, and on which lines of the stage."""

    counts: dict[InstructionKind, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)

    def evidence(self, stage: str) -> tuple[Evidence, ...]:
        """The lines as evidence."""
        return tuple(Evidence(stage, line) for line in self.lines)

    @property
    def width(self) -> int:
        """The bytes of the widest access, 0 where there is none."""
        return max((doing.width for doing in self.counts), default=0)


def instructions_by_line(document: Document, stage: str) -> Mapping[tuple[str, KernelPlace], InstructionMix]:
    """The instructions of an assembly stage by kind and the place that they were made from."""
    found: dict[tuple[str, KernelPlace], InstructionMix] = {}
    backend = backend_with_assembly(stage)
    if backend is None:
        return found
    for doing, lines in scan(document.text, backend.instruction_set()).lines.items():
        for line in lines:
            work = found.setdefault((doing.kind, _place_of(document, line)), InstructionMix())
            work.counts[doing] = work.counts.get(doing, 0) + 1
            work.lines.append(line)
    return found


def kernel_place(location: Location | None) -> KernelPlace:
    """The place in the kernel itself, whatever was inlined there."""
    return None if location is None else (location.outermost.file, location.outermost.line)


def place_text(place: KernelPlace, kernel: Kernel, of: str = "") -> str:
    """`of line 14 (x = tl.load(x_ptr))`, or with `of` `of x_ptr (line 14: x = tl.load(x_ptr))`."""
    if place is None:
        return f"of {of or 'no known line'}"
    file, line = place
    lines = kernel.source.text.split("\n")
    index = line - kernel.source.line
    same_file = file.rpartition("/")[2] == kernel.source.file.rpartition("/")[2]
    source = lines[index].strip()[:60] if same_file and 0 <= index < len(lines) else ""
    if of:
        return f"of {of} (line {line}: {source})" if source else f"of {of} (line {line})"
    return f"of line {line} ({source})" if source else f"of line {line}"


def _place_of(document: Document, line: int) -> KernelPlace:
    index = document.operation_of_line.get(line)
    return None if index is None else kernel_place(document.operations[index].location)
