"""The findings that facts alone prove. Ranking pairs by them loads none of the modules that read stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irscope.findings.divergence import identical_code, launch_problems
from irscope.findings.finding import Finding, PairContext
from irscope.findings.resources import (
    assembler_warnings,
    occupancy,
    other_facts,
    registers,
    scalar_spills,
    spills,
)

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
