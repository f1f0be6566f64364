"""Inline assembly that the compiler lost: it is in LLVM IR, but not in the assembly made from that.

    TTIR:    tt.elementwise_inline_asm "ex2.approx.ftz.f32 $0, $1;" {constraints = "=f,f", ...}
    LLVM:    error: could not allocate output register for constraint 'f'     (printed, and nothing more)
    AMDGCN:  neither the instruction nor the loads of its operands; the results are undefined

LLVM reports that a target has no register for a constraint, and goes on with an undefined value. Triton 3.8
and later return that program; earlier versions end the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from irscope.backends import backend_of
from irscope.languages.document import Document, Operation
from irscope.model import Variant
from irscope.model.frozen_value import FrozenValue
from irscope.model.text import one_line

OPCODE = "tt.elementwise_inline_asm"
_TEMPLATE = re.compile(r'tt\.elementwise_inline_asm "((?:[^"\\]|\\.){0,20000})"')
# What ends a statement of a template: MLIR writes a line break as \0A.
_SEPARATORS = re.compile(r"\\0[AaDd]|\\[nt]|[;{}\n]")
_INSTRUCTION = re.compile(r"\s*(?:@!?[%$\w]+\s+)?([a-z][\w.:]{1,60})")
_CONSTRAINTS = re.compile(r'constraints = "([^"]{0,2000})"')
_REFUSED = re.compile(r"constraint '([^']{1,40})'")
_ERROR = re.compile(r"error: (.{0,200}\bconstraint\b.{0,200})")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LostAssembly(FrozenValue):
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
    given = _CONSTRAINTS.search(operation.normalized)
    refused = _REFUSED.search(error[1]) if error else None
    if given is None or refused is None:
        return False
    return refused[1] in {constraint.lstrip("=&+") for constraint in given[1].split(",")}


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
