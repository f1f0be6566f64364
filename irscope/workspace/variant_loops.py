"""The loops of one stage of a variant: which other stages that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irscope.analysis.kernel_loops import Loop, kernel_loops, mlir_loops, trip_counts
from irscope.backends import backend_of
from irscope.model import Variant

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


def variant_loops(workspace: Workspace, variant: Variant, stage: str) -> tuple[Loop, ...]:
    """The loops of a stage; see `Workspace.loops`."""
    document = workspace.document(variant, stage)
    ttir = workspace.document(variant, "ttir") if workspace.key(variant, "ttir") else None
    if stage in ("ttir", "ttgir"):
        return mlir_loops(document, trip_counts(ttir, variant) if ttir else {})
    backend = backend_of(variant.target)
    if stage not in (backend.assembly, backend.machine_code) or not workspace.key(variant, "ttgir"):
        return ()
    return kernel_loops(document, stage, workspace.document(variant, "ttgir"), ttir, variant)
