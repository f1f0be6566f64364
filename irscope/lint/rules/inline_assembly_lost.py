"""Inline assembly that is missing from the machine code.

**What it does.** Reports the calls of `tl.inline_asm_elementwise` whose first instruction is in LLVM IR, but
not in the assembly of a variant.

**Why is this bad?** Their results are undefined, usually NaN. The cause is a constraint that the target has
no registers for, such as `=f,f` on AMD's GPUs: LLVM prints an error and goes on.

**Limits.** Assembly without an instruction, such as an empty barrier, is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.facts.instruction_mix import OPCODE, LostAssembly, lost_assembly, lost_text
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant
from irscope.targets import backend_of

FIX = "use constraints of the target (v or s on AMD's GPUs, r, l, h, f or d on NVIDIA's), or other code there"


def inline_assembly_lost(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for the instructions of each variant's inline assembly in its assembly."""
    by_line: dict[tuple[int | None, str], list[tuple[Variant, LostAssembly]]] = {}
    for variant in compiled.variants:
        for line, lost in _lost(compiled, variant):
            by_line.setdefault((line, lost.instruction), []).append((variant, lost))
    for (line, _), pairs in by_line.items():
        variants = list({variant.id: variant for variant, _ in pairs}.values())
        variant, lost = pairs[0]
        message = (
            f"the inline assembly of {compiled.kernel.name} is lost in {compiled.share(variants)}: "
            f"{lost_text(lost, variant)}: {compiled.listed(variants)}"
        )
        yield compiled.diagnostic(RULE, message, FIX, line)


def _lost(compiled: CompiledKernel, variant: Variant) -> Iterator[tuple[int | None, LostAssembly]]:
    """Yield what a variant lost, each with its line of the kernel's file; None if it is in another file."""
    ttir = compiled.text(variant, "ttir")
    if ttir is None or OPCODE not in ttir:
        return
    llir = compiled.text(variant, "llir")
    assembly = compiled.text(variant, backend_of(variant.target).assembly)
    if llir is None or assembly is None:
        return
    for lost in lost_assembly(variant, compiled.located(variant, ttir), llir, assembly):
        location = lost.operation.location.outermost if lost.operation.location else None
        is_in_file = location is not None and location.file == variant.kernel.source.file
        yield (location.line if location is not None and is_in_file else None), lost


RULE = CaptureRule("IRS212", "inline-assembly-lost", __doc__, inline_assembly_lost)
