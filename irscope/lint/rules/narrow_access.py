"""Loads and stores that are narrow because their mask's bound is not specialized.

**What it does.** Reports loads and stores that are narrower than they could be because the mask compares with
an argument that is not specialized.

**Why is this bad?** The compiler does not know that the bound is divisible by 16, so each access moves
fewer bytes than it could.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.accesses.global_accesses import global_accesses, memory_use
from irscope.facts.instruction_mix import instructions_by_line
from irscope.facts.occupancy import threads_of
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, lines_text
from irscope.model import Variant
from irscope.targets import backend_of


def narrow_access(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for accesses that only their mask makes narrow, by the bound of the mask."""
    by_bound: dict[str, dict[int, set[int]]] = {}
    for variant in compiled.variants:
        unspecialized = {
            argument.name
            for argument in variant.specialization
            if argument.key is None and argument.type.startswith(("i", "u"))
        }
        for line, name, width in _narrow(compiled, variant) if unspecialized else ():
            if name in unspecialized:
                by_bound.setdefault(name, {}).setdefault(line, set()).add(width)
    for name, lines in by_bound.items():
        widths = sorted(set().union(*lines.values()))
        message = (
            f"accesses at {lines_text(lines)} of {compiled.kernel.name} move only "
            f"{' or '.join(map(str, widths))} bytes at a time on {compiled.target}: the mask compares with "
            f"{name}, which is not specialized and so not known to be divisible by 16"
        )
        fix = f"take {name} out of do_not_specialize, and launch with a multiple of 16 if possible"
        yield compiled.diagnostic(RULE, message, fix, min(lines))


def _narrow(compiled: CompiledKernel, variant: Variant) -> Iterator[tuple[int, str, int]]:
    """Yield line, bound and width in bytes of each access that only its mask makes narrow."""
    stage, threads = backend_of(variant.target).assembly, threads_of(variant)
    text, assembly = compiled.text(variant, "ttir"), compiled.text(variant, stage)
    if threads is None or text is None or assembly is None:
        return
    ttir = compiled.located(variant, text)
    work = instructions_by_line(compiled.located(variant, text, stage, assembly), stage)
    narrow = memory_use(variant, ttir, work).narrow
    if not narrow:
        return
    for access in global_accesses(AxisFlow(ttir)):
        key = (access.kind, access.place)
        blame = access.blamed(threads) if key in narrow else None
        if blame and access.place and not blame.pointer and key in work:
            for name in blame.mask:
                yield access.place.line, name, work[key].width


RULE = CaptureRule("IRS206", "narrow-access", __doc__, narrow_access)
