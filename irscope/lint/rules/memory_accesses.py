"""Accesses that the compiler could not make wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from irscope.facts.accesses.axis_info import AxisFlow, shape_of
from irscope.facts.accesses.global_accesses import global_accesses, memory_use
from irscope.facts.instruction_mix import instructions_by_line
from irscope.facts.occupancy import threads_of
from irscope.lint.compiled import CompiledKernel, launched_variants
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
        yield compiled.diagnostic(NARROW_ACCESS, message, fix, min(lines))


def _narrow(compiled: CompiledKernel, variant: Variant) -> Iterator[tuple[int, str, int]]:
    """Yield line, bound and width in bytes of each access that only its mask makes narrow."""
    stage, threads = backend_of(variant.target).assembly, threads_of(variant)
    if threads is None or any(compiled.read(variant, name) is None for name in ("ttir", stage)):
        return
    ttir = compiled.document(variant, "ttir")
    work = instructions_by_line(compiled.document(variant, stage), stage)
    narrow = memory_use(variant, ttir, work).narrow
    if not narrow:
        return
    for access in global_accesses(AxisFlow(ttir)):
        key = (access.kind, access.place)
        blame = access.blamed(threads) if key in narrow else None
        if blame and access.place and not blame.pointer and key in work:
            for name in blame.mask:
                yield access.place.line, name, work[key].width


NARROW_ACCESS = CaptureRule(
    "IRS206",
    "narrow-access",
    """\
Loads and stores that are narrow because their mask's bound is not specialized.

**What it does.** Reports loads and stores that are narrower than they could be because the mask compares with
an argument that is not specialized.

**Why is this bad?** The compiler does not know that the bound is divisible by 16, so each access moves
fewer bytes than it could.
""",
    narrow_access,
)


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
        yield compiled.diagnostic(STRIDED_ACCESS, message, fix, line)


def _smallest_step(shape: Sequence[int], steps: Sequence[int | None]) -> int | None:
    """Return the smallest step along a dimension with several elements.

    Returns None if one is unknown or the elements are few.
    """
    along = [step for size, step in zip(shape, steps, strict=False) if size > 1]
    if len(shape) != len(steps) or prod(shape) < _WARP or not along:
        return None
    known_steps = [abs(step) for step in along if step is not None]
    return min(known_steps) if len(known_steps) == len(along) else None


STRIDED_ACCESS = CaptureRule(
    "IRS209",
    "strided-access",
    """\
A load or store whose neighboring elements are not neighbors in memory.

**What it does.** Reports loads and stores of at least a warp of elements that step by 32 bytes or more along
every dimension of the block, by the sizes and strides of the recorded launches or by constants of
the kernel.

**Why is this bad?** The threads of a warp access as many 32-byte sectors as they have elements, and use a few
bytes of each.

**Limits.** Loaded offsets (gathers) and steps that are not constant are not reported.
""",
    strided_access,
)
