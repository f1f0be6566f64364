"""Accesses that are as narrow in B as in A: one finding per reason, and the others behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from irscope.analysis.findings.finding import Finding
from irscope.model.text import pluralize


@dataclass(slots=True)
class Unchanged:
    """The accesses that did not change, by the reason why they are narrow; the reason ends the sentence."""

    by_reason: dict[str, list[Finding]] = field(default_factory=dict)

    def add(self, reason: str, finding: Finding) -> None:
        """Add a finding without its reason."""
        self.by_reason.setdefault(reason, []).append(finding)

    def findings(self) -> Iterator[Finding]:
        """Yield the first access of each reason, which counts the others, then the others as covered."""
        for reason, accesses in self.by_reason.items():
            first, *others = sorted(accesses, key=lambda one: (-one.weight, one.kind, one.text))
            too = f"; {pluralize(len(others), 'other access')} too" if others else ""
            yield replace(first, text=first.text + reason + too)
            yield from (replace(other, text=other.text + reason, covered=True) for other in others)
