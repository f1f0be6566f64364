"""A load or store whose neighboring elements are not neighbors in memory.

**What it does.** Reports loads and stores of at least a warp of elements that step by 32 bytes or more along
every dimension of the block, by the sizes and strides of the recorded launches or by constants of
the kernel.

**Why is this bad?** The threads of a warp access as many 32-byte sectors as they have elements, and use a few
bytes of each.

**Limits.** Loaded offsets (gathers) and steps that are not constant are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from irscope.facts.accesses.axis_info import shape_of
from irscope.lint.compiled import CompiledKernel, launched_variants
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant

_SECTOR = 32  # bytes, of NVIDIA's L2; AMD's cache lines are longer
_WARP = 32

_Key = tuple[int, str, str]  # line, "global load" or "global store", parameter


def strided_access(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for accesses that are contiguous along no dimension."""
    by_access: dict[_Key, tuple[int, int, list[Variant]]] = {}
    contiguous: set[_Key] = set()
    for launched in launched_variants(compiled):
        for access, pointer in launched.accesses():
            if access.place is None:
                continue
            key = (access.place[1], access.kind, pointer.base)
            shape = shape_of(launched.flow.operations[access.index].normalized)
            step = _smallest_step(shape, pointer.steps)
            if step is None or step * access.size < _SECTOR:
                contiguous.add(key)
                continue
            *_, variants = by_access.setdefault(key, (step, access.size, []))
            if launched.variant not in variants:
                variants.append(launched.variant)
    for (line, kind, name), (step, size, variants) in sorted(by_access.items()):
        if (line, kind, name) in contiguous:
            continue
        message = (
            f"neighboring elements of the {kind} of {name} at line {line} of {compiled.kernel.name} are "
            f"{step * size:,} bytes apart, so each {_SECTOR}-byte sector brings {size}, "
            f"in {compiled.share(variants)}"
        )
        fix = f"make the last tl.arange run along the dimension of {name} whose stride is 1, or transpose it"
        yield compiled.diagnostic(RULE, message, fix, line)


def _smallest_step(shape: Sequence[int], steps: Sequence[int | None]) -> int | None:
    """Return the smallest step along a dimension with several elements.

    Returns None if one is unknown or the elements are few.
    """
    along = [step for size, step in zip(shape, steps, strict=False) if size > 1]
    if len(shape) != len(steps) or prod(shape) < _WARP or not along:
        return None
    known_steps = [abs(step) for step in along if step is not None]
    return min(known_steps) if len(known_steps) == len(along) else None


RULE = CaptureRule("IRS209", "strided-access", __doc__, strided_access)
