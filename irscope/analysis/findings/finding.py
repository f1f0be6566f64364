"""A finding: one sentence about how two variants differ, with the lines that prove it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from irscope.analysis.findings.severity import Severity, severity_of
from irscope.backends import backend_of, in_words_of
from irscope.diff.rows import StageDiff
from irscope.facts.fact import Evidence, FactKind, Facts, evidence_of, number_of
from irscope.model import Variant
from irscope.model.text import one_line

if TYPE_CHECKING:
    from irscope.analysis.divergence import Divergences

# The findings that a view shows unless it is asked for all.
MOST_SHOWN = 10
_ARROW = " -> "
# A longer sentence is about a hostile name, which would be compared with itself at each of its characters.
_LONGEST = 2_000
_CLAUSES = re.compile(r"[:;()]")
# Words can be before numbers and a unit after them: `instructions 115 -> 115 per iteration`.
_EQUAL_SIDES = re.compile(
    r"(?:(?P<text>.+) -> (?P=text)|[^\d>]*\b(?P<number>\d.*) -> (?P=number)(?: [^\d>]*)?)"
)
# In `covers`: all other findings that are not more severe.
EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about how B differs from A.

    `text` is the sentence. `weight` ranks findings: `Severity.weight` makes it. `kind` names the subject
    ("launch", "spills", "global load", "layout", ...), and `subject` the one that it is about if a pair can
    have several findings of a kind: a source line ("line 14") or the alias of a layout ("#mma"). `evidence_a`
    and `evidence_b` are the lines on each side that prove it.

    `covers` are findings that this one explains, by kind ("matrix") or by kind and subject
    ("layout #mma"), or EVERYTHING: they say nothing to a reader of this one. `covered` is true if
    another finding explains this one: views show it only with all others.
    """

    text: str
    weight: float
    kind: str
    evidence_a: tuple[Evidence, ...] = ()
    evidence_b: tuple[Evidence, ...] = ()
    subject: str = ""
    covers: frozenset[str] = frozenset()
    covered: bool = False

    def __str__(self) -> str:
        """The sentence."""
        return self.text

    def __repr__(self) -> str:
        return f"Finding({one_line(self.text)!r})"

    def _repr_html_(self) -> str:
        from irscope.model.notebook import html_paragraph

        return html_paragraph(self.text)

    @property
    def severity(self) -> Severity:
        """Its effect on the program."""
        return severity_of(self.weight)

    def covered_by(self, keys: Set[str]) -> bool:
        """Whether `keys`, the `covers` of other findings, name this one."""
        return EVERYTHING in keys or self.kind in keys or f"{self.kind} {self.subject}" in keys


def ranked(found: Iterable[Finding]) -> list[Finding]:
    """Findings by weight, those that one of the same severity or a higher one covers after all others.

    matrix (weight 256, covers "ldmatrix"), occupancy (8), ldmatrix (16)
    -> matrix, occupancy, ldmatrix (covered)
    """
    differing = [finding for finding in found if not says_no_change(finding.text)]
    ordered = sorted(differing, key=lambda finding: (-finding.weight, finding.kind, finding.subject))
    covering = [finding for finding in ordered if finding.covers]
    own, covered = [], []
    for finding in ordered:
        covers = [
            other.covers for other in covering if other is not finding and other.severity >= finding.severity
        ]
        if finding.covered or finding.covered_by(frozenset().union(*covers)):
            covered.append(replace(finding, covered=True))
        else:
            own.append(finding)
    return own + covered


def says_no_change(text: str) -> bool:
    """Return True if each change in a sentence has two equal sides: `115 per iteration -> 115 per iteration`.

    The rule holds for every finding, whoever wrote it: what reads the same on both sides is not a difference.
    """
    if len(text) > _LONGEST:
        return False
    changes = [clause.strip() for clause in _CLAUSES.split(text) if _ARROW in clause]
    return bool(changes) and all(_EQUAL_SIDES.fullmatch(change) for change in changes)


def most_important(found: Sequence[Finding]) -> Sequence[Finding]:
    """The findings that a view shows by default: at most MOST_SHOWN, and none that another one covers."""
    own = [finding for finding in found if not finding.covered]
    return (own or found)[:MOST_SHOWN]


@dataclass(frozen=True)
class PairContext:
    """Two variants with their facts and stages: the only input of a finding.

    `diffs` are the stages that were compared, by name; the locations of both sides are lines of B (see
    `StageDiff.in_lines_of_b`), so equal lines have equal places. `divergences` says where the passes of both
    diverge; None if the capture does not have the passes.
    """

    a: Variant
    b: Variant
    facts_a: Facts
    facts_b: Facts
    diffs: Mapping[str, StageDiff] = field(default_factory=dict)
    divergences: Divergences | None = None

    def sides(self) -> Iterator[tuple[str, Variant, Facts]]:
        """Both sides with their letter."""
        yield "A", self.a, self.facts_a
        yield "B", self.b, self.facts_b

    def numbers(self, kind: FactKind) -> tuple[float, float] | None:
        """A fact's numbers; None if one is unknown."""
        a, b = number_of(self.facts_a, kind), number_of(self.facts_b, kind)
        return None if a is None or b is None else (a, b)

    def configured_warps(self) -> tuple[int, int] | None:
        """num_warps in the configs of A and B; None if a config does not set it."""
        a, b = (dict(variant.config.values).get("num_warps") for variant in (self.a, self.b))
        return (a, b) if isinstance(a, int) and isinstance(b, int) else None

    def in_words(self, text: str) -> str:
        """Return a text of irscope's own in the words of the vendor, if both sides have the same one."""
        same = self.a.target.backend == self.b.target.backend
        return in_words_of(self.b.target, text) if same else text

    def evidence(self, kind: FactKind) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
        """The lines on each side that prove a fact."""
        return evidence_of(self.facts_a, kind), evidence_of(self.facts_b, kind)


def assembly_diff(pair: PairContext) -> StageDiff | None:
    """The diff of the assembly; None if it was not compared."""
    return pair.diffs.get(backend_of(pair.b.target).assembly)
