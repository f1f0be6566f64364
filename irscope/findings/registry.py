"""The important differences of two variants in sentences, most important first.

Each module holds the findings about one subject. To add a finding, write one function there and add it to
FINDINGS, or to FACT_FINDINGS if it reads no stage: every view shows it. A function yields nothing if a fact
that it needs is unknown on one side.

Its severity, the effect on the program, ranks a finding (severity.py). One that explains others names them in
`covers`; they are then listed after all others (`ranked` in finding.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irscope.findings.arithmetic import arithmetic, inline_assembly
from irscope.findings.computations import computations, globals_read
from irscope.findings.divergence import first_different_stage, first_divergence, warp_specialization
from irscope.findings.fact_findings import FACT_FINDINGS
from irscope.findings.finding import Finding, PairContext, ranked
from irscope.findings.layouts import layouts
from irscope.findings.line_instructions import atomics, line_findings
from irscope.findings.loops import loop_findings, loop_spills
from irscope.findings.source_edits import source_edits
from irscope.findings.tensor_cores import tensor_cores


def findings(pair: PairContext) -> list[Finding]:
    """Return the findings about B compared with A, most important first, then the covered ones."""
    return ranked(finding for find in FINDINGS for finding in find(pair))


FINDINGS: tuple[Callable[[PairContext], Iterator[Finding]], ...] = (
    *FACT_FINDINGS,
    inline_assembly,
    tensor_cores,
    loop_findings,
    loop_spills,
    line_findings,
    atomics,
    warp_specialization,
    layouts,
    source_edits,
    globals_read,
    computations,
    arithmetic,
    first_divergence,
    first_different_stage,
)
