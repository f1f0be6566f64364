"""Loads and stores that are narrow because a mask's bound is not specialized."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.axis_flow import AxisFlow
from irscope.analysis.global_accesses import blamed, global_accesses
from irscope.analysis.instruction_mix import instructions_by_line
from irscope.analysis.vectorization import memory_use
from irscope.backends import backend_of
from irscope.facts.occupancy import threads_of
from irscope.languages.registry import parse
from irscope.lint.capture.compiled import Compiled
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.model import Variant

NARROW = Rule(
    "IRS206",
    "narrow-access",
    "loads and stores that are narrow because their mask's bound is in do_not_specialize",
)


def narrow_access(compiled: Compiled) -> Iterator[Diagnostic]:
    """The lines with such accesses, with the bound that the compiler knows nothing of."""
    found: dict[str, dict[int, set[int]]] = {}
    for variant in compiled.variants:
        unspecialized = {
            argument.name
            for argument in variant.specialization
            if argument.key is None and argument.type.startswith(("i", "u"))
        }
        for line, name, width in _narrow(compiled, variant) if unspecialized else ():
            if name in unspecialized:
                found.setdefault(name, {}).setdefault(line, set()).add(width)
    for name, lines in found.items():
        widths = sorted(set().union(*lines.values()))
        message = (
            f"{' or '.join(map(str, widths))} bytes at a time on {compiled.target} at line "
            f"{', '.join(map(str, sorted(lines)))} of {compiled.kernel.name}, fewer than there could be: the "
            f"mask compares with {name}, which is not specialized and so not known to be divisible by 16"
        )
        fix = f"take {name} out of do_not_specialize, and launch with a multiple of 16 where it can be one"
        yield compiled.problem(NARROW, message, fix, min(lines))


def _narrow(compiled: Compiled, variant: Variant) -> Iterator[tuple[int, str, int]]:
    """Line, bound and width in bytes of each access that its mask alone makes narrow."""
    stage = backend_of(variant.target).assembly
    texts = [compiled.read(variant, name) for name in ("ttir", stage)]
    threads = threads_of(variant)
    if threads is None or None in texts:
        return
    ttir, assembly = (
        parse((text or b"").decode("utf-8", "replace"), language)
        for text, language in zip(texts, ("mlir", stage), strict=True)
    )
    work = instructions_by_line(assembly, stage)
    narrow = memory_use(variant, ttir, work).narrow
    flow = AxisFlow(ttir) if narrow else None
    for access in global_accesses(ttir, flow) if flow else ():
        key = (access.kind, access.place)
        blame = blamed(access, flow, threads) if flow and key in narrow else None
        if blame and access.place and not blame.pointer and key in work:
            for name in blame.mask:
                yield access.place[1], name, work[key].width
