"""The register report of one variant: which stages it reads, and what to do if one is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.analysis.registers.register_report import RegisterReport, register_report
from irscope.backends import (
    all_backends,
    backend_of,
    backend_with_assembly,
    backend_with_machine_code,
)
from irscope.facts.fact import number_of
from irscope.facts.registry import REGISTERS
from irscope.model import UserError, Variant

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


def variant_registers(workspace: Workspace, variant: Variant, stage: str | None) -> RegisterReport:
    """The report on `stage`, or on the best one (None). Raises UserError if there is none."""
    if stage is not None and not (backend_with_machine_code(stage) or backend_with_assembly(stage)):
        known = dict.fromkeys(name for own in all_backends() for name in (own.machine_code, own.assembly))
        raise UserError(f"{stage} has no registers; choose {', '.join(known)}")
    stage = stage or _best_stage(workspace, variant)
    document = workspace.document(variant, stage)
    number = number_of(workspace.facts(variant), REGISTERS)
    layouts = workspace.layouts(variant) if workspace.key(variant, "ttgir") else None
    assembly = backend_of(variant.target).assembly
    other = stage != assembly and workspace.key(variant, assembly)
    report = register_report(
        variant.kernel,
        document,
        None if number is None else int(number),
        (layouts.document, layouts.layouts) if layouts else None,
        workspace.document(variant, assembly) if other else None,
    )
    return replace(report, stage=stage)


def _best_stage(workspace: Workspace, variant: Variant) -> str:
    """The machine code; the assembly if that cannot be had."""
    backend = backend_of(variant.target)
    try:
        workspace.text(variant, backend.machine_code)
    except UserError:
        if backend.assembly == backend.machine_code:
            raise
        return backend.assembly
    return backend.machine_code
