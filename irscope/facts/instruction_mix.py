"""Counts the instructions of one line of the kernel by kind, and names the line after them.

Inline assembly that the compiler lost: it is in LLVM IR, but not in the assembly made from that.

    TTIR:    tt.elementwise_inline_asm "ex2.approx.ftz.f32 $0, $1;" {constraints = "=f,f", ...}
    LLVM:    error: could not allocate output register for constraint 'f'     (printed, and nothing more)
    AMDGCN:  neither the instruction nor the loads of its operands; the results are undefined

LLVM reports that a target has no register for a constraint, and goes on with an undefined value. Triton 3.8
and later return that program; earlier versions end the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from irscope.facts.source.map import SourcePlace, kernel_place, user_line
from irscope.facts.source.tokens import statement_starts
from irscope.languages.document import Document, Operation
from irscope.model import Kernel, Variant
from irscope.model.records import frozen
from irscope.model.text import one_line
from irscope.targets import backend_of, backend_with_assembly
from irscope.targets.instructions import InstructionKind, scan

# The own functions of two kernels without helpers.
_TWO_KERNELS = 2
KernelPlace = SourcePlace | None  # a line of the kernel itself; None: unknown


@dataclass(slots=True)
class InstructionMix:
    """How many instructions of each kind a place has, and their lines in the stage."""

    counts: dict[InstructionKind, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Return the width of the widest access in bytes, or 0 if there are none."""
        return max((kind.width for kind in self.counts), default=0)


def mean_width(counts: Mapping[InstructionKind, int]) -> float:
    """Return the mean bytes per thread that one of these instructions moves; there must be one."""
    return sum(kind.width * number for kind, number in counts.items()) / sum(counts.values())


def instructions_by_line(document: Document, stage: str) -> Mapping[tuple[str, KernelPlace], InstructionMix]:
    """Return the instructions of an assembly stage by kind and the place that they were made from."""
    by_place: dict[tuple[str, KernelPlace], InstructionMix] = {}
    backend = backend_with_assembly(stage)
    if backend is None:
        return by_place
    for kind, lines in scan(document.text, backend.instruction_set()).lines.items():
        for line in lines:
            work = by_place.setdefault(
                (kind.kind, kernel_place(document.location_at(line))), InstructionMix()
            )
            work.counts[kind] = work.counts.get(kind, 0) + 1
            work.lines.append(line)
    return by_place


def place_text(place: KernelPlace, kernel: Kernel, of: str = "", helpers: Sequence[str] = ()) -> str:
    """Return `of line 14 (x = tl.load(x_ptr))`, or with `of` `of x_ptr (line 14: x = ...)`.

    `kernel` is B's, or A's for a line that B does not have: `line 14 of A`. `helpers` are called
    in the line: `of x_ptr (line 14: x = fetch(x_ptr), in fetch)`.
    """
    if place is None:
        return f"of {of or 'unknown lines'}"
    line = f"line {place.line} of A" if place.removed else f"line {place.line}"
    inside = f"in {' and '.join(helpers)}" if helpers else ""
    source = ", ".join(filter(None, [statement_text(place, kernel), inside]))
    if of:
        return f"of {of} ({line}: {source})" if source else f"of {of} ({line})"
    return f"of {line} ({source})" if source else f"of {line}"


def helpers_of(lines: Iterable[int], document: Document, kernel: Kernel, of_a: Kernel) -> tuple[str, ...]:
    """Return the names of the helpers, not Triton's own, that the operations on some lines are written in.

    `kernel` is B's; `of_a` has the lines that B does not have.
    """
    names: dict[str, None] = {}
    for line in lines if len(kernel.own_functions) + len(of_a.own_functions) > _TWO_KERNELS else ():
        location = document.location_at(line)
        if location is None or location.inlined_at is None:
            continue
        for helper in (of_a if location.removed else kernel).own_functions[1:]:
            length = helper.text.count("\n") + 1
            if location.file == helper.file and 0 <= location.line - helper.line < length:
                names[helper.name] = None
    return tuple(names)


def statement_text(place: SourcePlace, kernel: Kernel) -> str:
    """Return the start of the line's statement in the kernel or a helper; "" if neither has the line."""
    for function in (kernel.source, *kernel.helpers):
        lines, index = function.text.split("\n"), place.line - function.line
        same_file = place.file_name == SourcePlace(function.file, 0).file_name
        if same_file and 0 <= index < len(lines):
            first = statement_starts(function.text)[index]
            source = user_line(lines, first)[:80] or lines[first].strip()[:60]
            # The first line of several.
            return f"{source}..." if source.endswith(("(", "[", "{", ",")) else source
    return ""


def place_subject(place: KernelPlace) -> str:
    """Return the subject of findings about a place: "line 14"."""
    return f"line {place.line}" if place else ""


OPCODE = "tt.elementwise_inline_asm"
_TEMPLATE = re.compile(r'tt\.elementwise_inline_asm "((?:[^"\\]|\\.){0,20000})"')
# What ends a statement of a template: MLIR writes a line break as \0A.
_SEPARATORS = re.compile(r"\\0[AaDd]|\\[nt]|[;{}\n]")
_INSTRUCTION = re.compile(r"\s*(?:@!?[%$\w]+\s+)?([a-z][\w.:]{1,60})")
_CONSTRAINTS = re.compile(r'constraints = "([^"]{0,2000})"')
_REFUSED = re.compile(r"constraint '([^']{1,40})'")
_ERROR = re.compile(r"error: (.{0,200}\bconstraint\b.{0,200})")


@frozen
class LostAssembly:
    """An operation of TTIR whose instruction is missing from the assembly; `error` is what LLVM printed."""

    operation: Operation
    instruction: str
    error: str


def lost_assembly(
    variant: Variant, ttir: Document, llvm_ir: str, assembly: str | None
) -> Iterator[LostAssembly]:
    """Yield the inline assembly that is in TTIR and LLVM IR, but not in the assembly.

    What the optimizer removed, because nothing reads its result, is not in LLVM IR either. Without the
    assembly, what the compiler printed tells.
    """
    error = _ERROR.search(variant.output)
    for operation in ttir.operations:
        instruction = first_instruction(operation) if operation.opcode == OPCODE else ""
        lost = _is_refused(operation, error) if assembly is None else instruction not in assembly
        if instruction and lost and instruction in llvm_ir:
            yield LostAssembly(operation, instruction, one_line(error[1]) if error else "")


def _is_refused(operation: Operation, error: re.Match[str] | None) -> bool:
    """Return True if the compiler's error names a constraint of this operation."""
    constraints = _CONSTRAINTS.search(operation.normalized)
    refused = _REFUSED.search(error[1]) if error else None
    if constraints is None or refused is None:
        return False
    return refused[1] in {constraint.lstrip("=&+") for constraint in constraints[1].split(",")}


def first_instruction(operation: Operation) -> str:
    """Return the first instruction of a template, without its operands; "" if it has none."""
    template = _TEMPLATE.search(operation.normalized)
    for statement in _SEPARATORS.split(template[1]) if template else ():
        if match := _INSTRUCTION.match(statement):
            return match[1]
    return ""


def lost_text(lost: LostAssembly, variant: Variant) -> str:
    """Return `v_exp_f32 is not in the amdgcn, so its results are undefined (...)`."""
    why = f" (the compiler reported: {lost.error})" if lost.error else ""
    stage = backend_of(variant.target).assembly
    return f"{lost.instruction} is not in the {stage}, so its results are undefined{why}"
