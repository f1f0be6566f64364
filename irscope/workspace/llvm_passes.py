"""LLVM's passes and what ptxas says of a variant: found by compiling its TTGIR again, only when asked for."""

from __future__ import annotations

from dataclasses import dataclass

from irscope.backends import backend_of
from irscope.backends.cuda import ptxas_functions
from irscope.model import Variant
from irscope.toolchain.llvm_passes import LlvmPass, record_llvm_passes
from irscope.workspace.compiler_version import check_installed
from irscope.workspace.workspace import Workspace

# The instructions whose counts changed most are named.
_MOST = 4


@dataclass(frozen=True, slots=True)
class LlvmReport:
    """LLVM's passes of a variant in order, numbered from 1.

    `functions` are those in the log of ptxas with its statistics, `advice` its performance warnings.
    """

    variant: Variant
    name: str
    passes: tuple[tuple[int, LlvmPass], ...]
    total: int
    changed: int
    functions: tuple[tuple[str, str], ...]
    advice: tuple[str, ...]


def llvm_report(workspace: Workspace, variant: Variant, changed: bool = False) -> LlvmReport:
    """The report on a variant, whose TTGIR is compiled again; `changed`: only passes that changed the module.

    Raises UserError if the variant has no TTGIR, another Triton is installed, or the compilation fails.
    """
    check_installed(variant, "LLVM's passes are found")
    backend = backend_of(variant.target)
    passes = record_llvm_passes(
        workspace.text(variant, "ttgir"),
        variant.target,
        {**variant.metadata, **dict(variant.config.values)},
        backend.assembly,
        variant.metadata,
        {name: value for name, value in variant.environment.items() if name.isupper()},
    )
    numbered = tuple((n, each) for n, each in enumerate(passes, 1) if each.changed or not changed)
    return LlvmReport(
        variant,
        workspace.names[variant.id],
        numbered,
        len(passes),
        sum(each.changed for each in passes),
        ptxas_functions(variant.log),
        backend.warnings(variant.log),
    )


def effect_text(each: LlvmPass) -> str:
    """How the counts of instructions changed: "-64 extractelement, +1 phi"."""
    if not each.changed:
        return "="
    if not each.effect:
        return "operands, attributes or order"
    texts = [f"{count:+d} {opcode}" for opcode, count in each.effect[:_MOST]]
    more = ", ..." if len(each.effect) > _MOST else ""
    return f"{', '.join(texts)}{more}"
