"""The lines of the assembly that show where the work of a term comes from."""

from __future__ import annotations

from irscope.backends import CUDA
from irscope.estimating.terms import ATOMICS, L2, LATENCY, MEMORY, SHARED, STORES, TENSOR
from irscope.estimating.work import Work
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.fact import Evidence

_MOST = 64
_ACCESSES = {
    MEMORY: ("global", ("load", "copy", "store")),
    L2: ("global", ("load", "copy", "store")),
    SHARED: ("shared", ("load", "copy", "store")),
    STORES: ("global", ("store",)),
    ATOMICS: ("global", ("atomic",)),
}


def term_evidence(name: str, work: Work, artifacts: VariantArtifacts | None) -> tuple[Evidence, ...]:
    """At most 64 lines of the PTX, those with most work first."""
    if name == LATENCY:
        loops = sorted(work.counts.loops, key=lambda loop: -loop.passes * loop.instructions)
        return tuple(Evidence(CUDA.assembly, loop.header) for loop in loops[:_MOST] if loop.passes)
    if name == TENSOR and artifacts is not None and artifacts.scan is not None:
        found = [
            line for kind, lines in artifacts.scan.lines.items() if kind.kind == "matrix" for line in lines
        ]
        return tuple(Evidence(CUDA.assembly, line) for line in sorted(found)[:_MOST])
    space, names = _ACCESSES.get(name, ("", ()))
    accesses = [one for one in work.counts.accesses if one.space == space and one.name in names]
    accesses.sort(key=lambda one: -(one.sectors + one.wavefronts))
    lines = [one.line for one in accesses if one.warps]
    if name in (MEMORY, L2, STORES):
        lines += [copy.line for copy in work.counts.copies if copy.stores or name != STORES]
    return tuple(Evidence(CUDA.assembly, line) for line in dict.fromkeys(lines[:_MOST]))
