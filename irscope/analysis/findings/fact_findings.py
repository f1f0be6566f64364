"""The findings that facts alone prove. Ranking pairs by them loads none of the modules that read stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irscope.analysis.findings.finding import Finding, PairContext
from irscope.analysis.findings.launch import identical_code, launch_problems
from irscope.analysis.findings.resources import (
    assembler_warnings,
    occupancy,
    other_facts,
    registers,
    spills,
)
from irscope.analysis.findings.scalar_spills import scalar_spills

FACT_FINDINGS: tuple[Callable[[PairContext], Iterator[Finding]], ...] = (
    launch_problems,
    identical_code,
    spills,
    scalar_spills,
    assembler_warnings,
    registers,
    occupancy,
    other_facts,
)
