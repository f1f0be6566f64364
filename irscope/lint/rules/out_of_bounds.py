"""An access without a mask that a recorded launch made past the end of a tensor.

**What it does.** Computes the offsets of loads and stores without a mask in the last program of each
recorded launch (`irscope run`), and reports those past the end of the tensor that was passed, with the
configs for which they are: often, the sizes are a multiple of BLOCK in some configs and not in others.

**Why is this bad?** The kernel reads or overwrites memory of other tensors. Nothing reports an error.

**Limits.** Only offsets that follow from the launch's arguments, the program's index and ranges are known,
not loaded ones; only tensors that are contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from irscope.lint.compiled import CompiledKernel, LaunchedVariant, launched_variants
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant


@dataclass
class _Overrun:
    """The worst access of one line: what it reaches in a tensor of `elements`, and the variants that do."""

    kind: str
    parameter: str
    last: int
    elements: int
    example: LaunchedVariant
    variants: list[Variant] = field(default_factory=list)


def out_of_bounds(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the last offset of each access with the size of the tensor."""
    overruns: dict[tuple[int, str], _Overrun] = {}
    for launched in launched_variants(compiled):
        for access, pointer in launched.accesses():
            elements = launched.elements(pointer.base)
            if access.mask is not None or access.place is None or not pointer.exact or pointer.high is None:
                continue
            if elements is None or pointer.high < elements:
                continue
            key = (access.place[1], pointer.base)
            overrun = overruns.setdefault(key, _Overrun(access.kind, pointer.base, -1, 0, launched))
            if pointer.high - elements > overrun.last - overrun.elements:
                overrun.last, overrun.elements, overrun.example = pointer.high, elements, launched
            if launched.variant not in overrun.variants:
                overrun.variants.append(launched.variant)
    for (line, _), overrun in sorted(overruns.items()):
        yield _diagnostic(compiled, line, overrun)


def _diagnostic(compiled: CompiledKernel, line: int, overrun: _Overrun) -> Diagnostic:
    verb = "reads" if overrun.kind == "global load" else "writes"
    launch = overrun.example.launch
    grid = f" with grid {launch.grid}" if launch else ""
    message = (
        f"line {line} of {compiled.kernel.name} {verb} element {overrun.last:,} of {overrun.parameter}, "
        f"which has {overrun.elements:,}, without a mask{grid}, in {compiled.share(overrun.variants)}: "
        f"{compiled.listed(overrun.variants)}"
    )
    return compiled.diagnostic(RULE, message, "mask the elements past the end", line)


RULE = CaptureRule("IRS207", "out-of-bounds", __doc__, out_of_bounds)
