"""Findings about inline assembly that is missing from the machine code of one side."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.findings.finding import Finding, PairContext, assembly_diff
from irscope.analysis.findings.severity import Severity
from irscope.analysis.inline_assembly import OPCODE, LostAssembly, lost_assembly, lost_text
from irscope.analysis.instruction_mix import KernelPlace, place_subject, place_text
from irscope.analysis.source_map import kernel_place
from irscope.facts.fact import Evidence


def inline_assembly(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each side and line whose inline assembly the compiler lost."""
    ttir, assembly = pair.diffs.get("ttir"), assembly_diff(pair)
    if ttir is None or "llir" not in pair.diffs:
        return
    for letter, variant, document, machine in (
        ("A", pair.a, ttir.left, assembly.left if assembly else None),
        ("B", pair.b, ttir.right, assembly.right if assembly else None),
    ):
        if not any(operation.opcode == OPCODE for operation in document.operations):
            continue
        # The diff of LLVM IR takes long, so it is made only for such kernels.
        llir = pair.diffs["llir"]
        llvm_ir = (llir.left if letter == "A" else llir.right).text
        found: dict[tuple[KernelPlace, str], LostAssembly] = {}
        for lost in lost_assembly(variant, document, llvm_ir, machine.text if machine else None):
            found.setdefault((kernel_place(lost.operation.location), lost.instruction), lost)
        for (place, _), lost in found.items():
            kernel = pair.a.kernel if place is not None and place.removed else pair.b.kernel
            evidence = (Evidence("ttir", lost.operation.line),)
            yield Finding(
                f"{letter} loses the inline assembly {place_text(place, kernel)}: {lost_text(lost, variant)}",
                Severity.FAILURE.weight(),
                "inline assembly",
                evidence if letter == "A" else (),
                evidence if letter == "B" else (),
                subject=place_subject(place),
            )
