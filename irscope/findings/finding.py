"""A finding: how two variants differ in one respect, with the lines that prove it, and its sentence.

How much a difference matters to the program: the only scale that ranks findings.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeVar

from irscope.diff.rows import StageDiff
from irscope.facts.fact import Evidence, FactKind, Facts, FactValue, evidence_at, evidence_of, number_of
from irscope.facts.registry import FACT_NAMED
from irscope.facts.source.map import SourcePlace
from irscope.languages.document import Document
from irscope.model import Kernel, Variant
from irscope.model.records import frozen
from irscope.model.text import one_line
from irscope.targets import backend_of, in_words_of

if TYPE_CHECKING:
    from irscope.findings.passes import Divergences


class Severity(enum.IntEnum):
    """The effect of a difference on the program, as the weight of the smallest one.

    Each is twice the next, and a weight stays below twice its severity: no number of bytes ranks a finding
    above one that is more severe.
    """

    FAILURE = 2048  # one side does not compile or cannot be launched
    IDENTICAL = 1024  # both sides are the same program: nothing to benchmark
    SEMANTICS = 512  # the kernel computes or orders something else: a mask, a memory order, a loop's bound
    MATRIX_PATH = 256  # other instructions compute: tensor cores lost, wgmma to mma.sync, exp approximated
    LOOP_SPILLS = 128  # registers are spilled in each iteration of a loop
    SPILLS = 64  # registers are spilled
    LOOP = 32  # how a loop runs: unrolled, pipelined, specialized by warp
    MEMORY = 16  # how memory is accessed: width, atomics, kind of copy
    OCCUPANCY = 8  # how many warps are resident
    RESOURCES = 4  # registers, shared memory, barriers, below any effect on occupancy
    LAYOUT = 2  # what the compiler chose on the way: passes, layouts, conversions
    COUNT = 1  # more or fewer of the same instructions

    def weight(self, effect: float = 0.0) -> float:
        """Return the weight of a finding; `effect` is its number of doublings or halvings (0 or more)."""
        return self * (1 + effect / (1 + effect))


def severity_of(weight: float) -> Severity:
    """Return the severity that a weight is of."""
    return next((severity for severity in Severity if severity <= weight), Severity.COUNT)


def effect(a: float, b: float) -> float:
    """How far a quantity moved, in doublings or halvings; 0 counts as a half."""
    return abs(math.log2(max(b, 0.5) / max(a, 0.5)))


# The findings that a view shows unless it is asked for all.
MOST_SHOWN = 10
# In `covers`: all other findings that are not more severe.
EVERYTHING = "*"


@frozen
class ValueChange:
    """A quantity with two values: `pipelined, 2 -> 4 deep`.

    `a` and `b` are the values in A and B, as they are printed. `quantity` is what precedes the values
    ("pipelined,", "in the loop of line 12:"), `unit` what follows them ("deep", "bytes").
    """

    a: str
    b: str
    quantity: str = ""
    unit: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.quantity, self.a, "->", self.b, self.unit)))


def fact_change(kind: FactKind, a: FactValue, b: FactValue) -> ValueChange:
    """Return the change of a fact."""
    return ValueChange(kind.format(a), kind.format(b), unit=kind.unit_in_text)


EvidencePair = tuple[tuple[Evidence, ...], tuple[Evidence, ...]]


def evidence_pair(stage: str, a: Iterable[int], b: Iterable[int]) -> EvidencePair:
    """Return lines of a stage of A and of B as evidence."""
    return evidence_at(stage, a), evidence_at(stage, b)


def on_sides(one: str, both: str, a: str, b: str) -> tuple[str, tuple[str, ...]]:
    """Return what a finding says of the sides that have a text, and its change if only one has.

    ("{} spills, {} does not", "Both spill", "", "8 bytes") -> "B spills, A does not", ("8 bytes",)
    """
    if a and b:
        return f"{both}. A: {a}. B: {b}", ()
    return (one.format("B", "A"), (b,)) if b else (one.format("A", "B"), (a,))


# The sentences of causes, and of remarks at the end of a finding, by kind.
_CAUSES = {
    "approximates": "; {} approximates",
    "because": ", because {}",
    "because in A": "; in A, {}",
    "both narrow": "; both are narrow because {}",
    "constant": "; the results change with the constant",
    "converted": "; {} converts {} first",
    "flushes": "; {} flushes subnormal numbers to zero",
    "following": " (and with it {})",
    "instead": "; {} {}",
    "largest tensors": "; {}'s largest tensors: {}",
    "limit": ", limited by {}",
    "needed": "; {}",
    "narrow": "; {} is narrow because {}",
    "no spills": "; nothing is spilled, it holds arrays of the kernel",
    "other accesses": "; {} too",
    "problem": ", for {}",
    "reader": ", read by {}",
    "remark": " ({})",
    "spilled values": "; {} spills values of line {} ({})",
    "tensors": "; {}",
}


@frozen
class FindingCause:
    """A cause of a finding, or a remark about it; its sentence, by `kind`, has places for the `values`."""

    kind: str
    values: tuple[object, ...] = ()

    def __str__(self) -> str:
        """Return the end of a sentence, with the punctuation before it."""
        return _CAUSES[self.kind].format(*self.values)


@frozen
class FindingKind:
    """A kind of findings: where one without lines can be seen, and what its sentence has between its parts.

    `column` is a column of the table, `screen` is "why", "passes" or "layout". `after_what` is the text
    between what differs and its changes, `between` the text between two changes. `whole` is true if the
    finding is about the whole pair: views say it apart from the list of differences.
    """

    screen: str = "why"
    column: str = ""
    after_what: str = ": "
    between: str = "; "
    whole: bool = False


# The kinds that are not as FindingKind's defaults are. The name of a fact is a kind too, shown in its column.
_KINDS: dict[str, FindingKind] = {}
_Find = TypeVar("_Find", bound=Callable[..., Iterator["Finding"]])


def declares(name: str, kind: FindingKind) -> Callable[[_Find], _Find]:
    """Declare what the findings of a kind have in common, at the function that makes them."""

    def declared(find: _Find) -> _Find:
        _KINDS[name] = kind
        return find

    return declared


@frozen
class Finding:
    """How B differs from A in one respect.

    `what` is the quantity that differs, or the whole statement if nothing has two values. `changes` are its
    values in A and B, or texts without two values: "no longer pipelined". `causes` are the end of the
    sentence: causes and remarks. `weight` ranks findings: `Severity.weight` makes it.
    `kind` names the subject ("launch", "spills", "global load", "layout", ...), and `subject` the one that it
    is about if a pair can have several findings of a kind: a source line ("line 14") or the alias of a layout
    ("#mma"). `evidence_a` and `evidence_b` are the lines on each side that prove it.

    `covers` are findings that this one explains, by kind ("matrix") or by kind and subject
    ("layout #mma"), or EVERYTHING: they say nothing to a reader of this one. `covered` is true if
    another finding explains this one: views show it only with all others.
    """

    what: str
    weight: float
    kind: str
    evidence_a: tuple[Evidence, ...] = ()
    evidence_b: tuple[Evidence, ...] = ()
    subject: str = ""
    covers: frozenset[str] = frozenset()
    covered: bool = False
    changes: tuple[ValueChange | str, ...] = ()
    causes: tuple[FindingCause, ...] = ()

    @property
    def text(self) -> str:
        """Return the sentence: `Registers per thread: 64 -> 120 (no stack)`."""
        return self._words(self.what, self.changes) + self._ending

    @property
    def cells(self) -> tuple[str, str, str]:
        """Return what differs, its value in A, and B's with the rest; (text, "", "") without values."""
        for index, change in enumerate(self.changes):
            if isinstance(change, ValueChange):
                what = self._words(self.what, (*self.changes[:index], change.quantity))
                b = f"{change.b} {change.unit}".rstrip()
                rest = self._words("", (b, *self.changes[index + 1 :]))
                return what.removesuffix(":"), change.a, rest + self._ending
        return self.text, "", ""

    @property
    def _ending(self) -> str:
        return "".join(map(str, self.causes))

    def _words(self, what: str, changes: Iterable[ValueChange | str]) -> str:
        after = self.declared.between.join(filter(None, map(str, changes)))
        return self.declared.after_what.join(filter(None, (what, after)))

    @property
    def declared(self) -> FindingKind:
        """Return what all findings of its kind have in common."""
        fact = FACT_NAMED.get(self.kind)
        return _KINDS.get(self.kind) or FindingKind(column=fact.name if fact else "")

    def __str__(self) -> str:
        """Return the sentence."""
        return self.text

    def __repr__(self) -> str:
        return f"Finding({one_line(self.text)!r})"

    def _repr_html_(self) -> str:
        from irscope.model.text import html_paragraph

        return html_paragraph(self.text)

    @property
    def is_no_change(self) -> bool:
        """Check whether every change has two equal values: such a finding is no difference."""
        changes = [change for change in self.changes if isinstance(change, ValueChange)]
        return bool(changes) and all(change.a == change.b for change in changes)

    @property
    def severity(self) -> Severity:
        """Its effect on the program."""
        return severity_of(self.weight)

    def covered_by(self, keys: Set[str]) -> bool:
        """Whether `keys`, the `covers` of other findings, name this one."""
        return EVERYTHING in keys or self.kind in keys or f"{self.kind} {self.subject}" in keys


def ranked(found: Iterable[Finding]) -> list[Finding]:
    """Order findings by weight, those that one of the same severity or a higher one covers after all others.

    matrix (weight 256, covers "ldmatrix"), occupancy (8), ldmatrix (16)
    -> matrix, occupancy, ldmatrix (covered)
    """
    differing = [finding for finding in found if not finding.is_no_change]
    ordered = sorted(differing, key=lambda finding: (-finding.weight, finding.kind, finding.subject))
    covering = [finding for finding in ordered if finding.covers]
    covered = []
    for finding in ordered:
        covers = [
            other.covers for other in covering if other is not finding and other.severity >= finding.severity
        ]
        is_covered = finding.covered or finding.covered_by(frozenset().union(*covers))
        covered.append(replace(finding, covered=is_covered))
    return sorted(covered, key=lambda finding: finding.covered)


def most_important(found: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings that a view shows by default: at most MOST_SHOWN, none of them covered."""
    own = [finding for finding in found if not finding.covered]
    return (own or found)[:MOST_SHOWN]


@frozen
class Side:
    """One side of a pair: its letter, variant and facts; `diffs` are those of the pair."""

    letter: str
    variant: Variant
    facts: Facts
    diffs: Mapping[str, StageDiff]

    def document(self, stage: str) -> Document | None:
        """Return the side's parsed stage, or None if the stage was not compared."""
        diff = self.diffs.get(stage)
        return None if diff is None else diff.left if self.letter == "A" else diff.right

    def number(self, kind: FactKind) -> float | None:
        """Return a fact's number, or None if it is unknown."""
        return number_of(self.facts, kind)


@frozen
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

    @property
    def sides(self) -> tuple[Side, Side]:
        """Return A and B."""
        a, b = Side("A", self.a, self.facts_a, self.diffs), Side("B", self.b, self.facts_b, self.diffs)
        return a, b

    @property
    def assembly(self) -> StageDiff | None:
        """Return the diff of the assembly; None if it was not compared."""
        return self.diffs.get(backend_of(self.b.target).assembly)

    def numbers(self, kind: FactKind) -> tuple[float, float] | None:
        """Return a fact's numbers; None if one is unknown."""
        a, b = (side.number(kind) for side in self.sides)
        return None if a is None or b is None else (a, b)

    def kernel_with(self, place: SourcePlace | None) -> Kernel:
        """Return the kernel that has a line: B's, or A's for a line that B does not have."""
        return self.a.kernel if place and place.removed else self.b.kernel

    def in_words(self, text: str) -> str:
        """Return a text of irscope's own in the words of the vendor, if both sides have the same one."""
        same = self.a.target.backend == self.b.target.backend
        return in_words_of(self.b.target, text) if same else text

    def evidence(self, kind: FactKind) -> EvidencePair:
        """Return the lines on each side that prove a fact."""
        return evidence_of(self.facts_a, kind), evidence_of(self.facts_b, kind)
