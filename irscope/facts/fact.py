"""Facts: named figures of one variant, with the lines that prove them.

The facts about a launch that an estimate gives.

They are not in the registry, because they need a launch, and time: about 0.1 s per variant. Views ask for
them (`Workspace.estimates`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from irscope.model import Status, Variant
from irscope.model.records import frozen
from irscope.model.status import failed
from irscope.model.text import microseconds_text

if TYPE_CHECKING:
    from irscope.facts.artifacts import VariantArtifacts


FactValue = int | float | str | Status | None

# Reads one stage: its content, or None if the variant lacks it.
ReadStage = Callable[[str], bytes | None]

# Units that a sentence needs after a number; the labels name the others.
_UNITS_IN_TEXT = ("bytes", "columns", "words", "seconds", "milliseconds")

# Units in a heading, in which B is a variant; its title says what all other numbers count.
_ABBREVIATED = {"bytes": "bytes", "seconds": "s", "milliseconds": "ms"}


@frozen
class Evidence:
    """A line that proves a fact.

    `stage` is the name of the stage, `line` the index (from 0) of the line in its text.
    """

    stage: str
    line: int


def evidence_at(stage: str, lines: Iterable[int]) -> tuple[Evidence, ...]:
    """Return lines of a stage as evidence."""
    return tuple(Evidence(stage, line) for line in lines)


@frozen
class Measured:
    """A measured value and the lines that prove it."""

    value: FactValue
    evidence: tuple[Evidence, ...] = ()


def format_value(value: FactValue) -> str:
    """Format a value without its unit: "24,576", "0.125", "yes"; "?" if it is unknown."""
    if value is None:
        return "?"
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def format_fraction(value: FactValue) -> str:
    """Format a fraction as a percentage: "12.5%"."""
    return f"{round(value * 100, 1):g}%" if isinstance(value, int | float) else format_value(value)


def _unmeasured(_: VariantArtifacts) -> Measured:
    return Measured(None)


@frozen
class FactKind:
    """Defines a fact: a column of the table.

    `name` is its name in --sort and JSON, `title` a short heading, `titles` are those of backends that have
    words of their own, `label` its name in a sentence, `unit` what a value counts ("" for text).
    `description` is a sentence about it. `better` is the direction that is good: "low", "high", or "" if
    neither is. `weight` is how much a doubling matters in findings (0: not compared). `format` makes text of
    a value, `measure` measures it. `backend` is the one whose variants have the fact (None: all). A column in
    which every value is `absent` is hidden (None: never). `place` is where the app's table has the column: -1
    just before the stage that differs, 1 just after it, 0 with the rest.
    With `in_state`, the column `state` shows the fact instead of a column of its own.
    """

    name: str
    title: str = field(compare=False)
    unit: str
    better: str
    description: str
    label: str = ""
    weight: float = 0.0
    format: Callable[[FactValue], str] = field(default=format_value, compare=False)
    measure: Callable[[VariantArtifacts], Measured] = field(default=_unmeasured, compare=False)
    backend: str | None = None
    absent: FactValue = None
    place: int = field(default=0, compare=False)
    in_state: bool = field(default=False, compare=False)
    titles: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def subject(self) -> str:
        """Return the name in a sentence."""
        return self.label or self.title

    @property
    def unit_in_text(self) -> str:
        """Return the unit in a sentence: "bytes"; "" if the name says what is counted."""
        return self.unit if self.unit in _UNITS_IN_TEXT else ""

    @property
    def abbreviated_unit(self) -> str:
        """Return the unit in a table: "bytes", "s", "ms"; "" for plain counts, and if the title has it."""
        unit = _ABBREVIATED.get(self.unit, "")
        return "" if f" {self.title}".endswith(f" {unit}") else unit

    @property
    def heading(self) -> str:
        """Return the title with its unit: "Shared bytes", "Compile s"."""
        return f"{self.title} {self.abbreviated_unit}".rstrip()

    @property
    def minor(self) -> bool:
        """Return True if the fact is secondary: a stage's time, a size, what a time was measured for."""
        return self.name.endswith(("_seconds", "_size", "_key"))

    def titled(self, text: str) -> str:
        """Return a value's text with its title and unit: "Stack 0 bytes"."""
        return " ".join(filter(None, (self.title, text, self.abbreviated_unit)))

    def to_json(self) -> dict[str, str]:
        """Return the column's description in JSON documents."""
        names = ("name", "title", "unit", "better", "description")
        return {name: getattr(self, name) for name in names}


# The characters of a value in the text of a Fact.
_MOST_SHOWN = 80


@frozen
class Fact:
    """A figure of one variant; `str(fact)` is the value as every view shows it.

    `kind` defines the fact, with its unit. `value` is None if it is unknown; an unknown value is never 0.
    `evidence` are the lines that prove it, empty for facts that the capture stores.
    """

    kind: FactKind
    value: FactValue
    evidence: tuple[Evidence, ...] = ()

    def __str__(self) -> str:
        """Return the value as every view shows it."""
        return self.kind.format(self.value)

    def __repr__(self) -> str:
        from irscope.model.text import clipped, one_line

        return f"Fact({self.kind.name}: {clipped(one_line(str(self)), _MOST_SHOWN)})"

    def _repr_html_(self) -> str:
        from irscope.model.text import html_text

        unit = f" {self.kind.unit}" if self.kind.unit and self.value is not None else ""
        return f"{html_text(self.kind.subject, bold=True)}: {html_text(f'{self}{unit}')}"


Facts = Mapping[str, Fact]


class FactRow(Mapping[str, Fact]):
    """The facts of one variant as values, without evidence; makes a Fact when one is asked for.

    `places` maps the name of each of `kinds` to the position of its value. 100,000 variants with a dict of 50
    Facts each would take 600 MB.
    """

    __slots__ = ("_kinds", "_places", "_values")

    def __init__(
        self, kinds: tuple[FactKind, ...], places: Mapping[str, int], values: tuple[FactValue, ...]
    ) -> None:
        self._kinds, self._places, self._values = kinds, places, values

    def __getitem__(self, name: str) -> Fact:
        position = self._places[name]
        return Fact(self._kinds[position], self._values[position])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def value(self, name: str) -> FactValue:
        """Return the value of a fact, or None if it is unknown."""
        position = self._places.get(name)
        return None if position is None else self._values[position]


def column_of(rows: Iterable[Facts], name: str) -> list[FactValue]:
    """Return the values of a fact in several rows, None if it is unknown.

    Faster than `value_named` of each.
    """
    values: list[FactValue] = []
    positions: Mapping[str, int] | None = None
    position = None
    for facts in rows:
        if not isinstance(facts, FactRow):
            values.append(value_named(facts, name))
            continue
        if facts._places is not positions:  # the rows of a capture share it
            positions = facts._places
            position = positions.get(name)
        values.append(None if position is None else facts._values[position])
    return values


def columns_of(rows: Sequence[Facts], names: Sequence[str]) -> list[Sequence[FactValue]]:
    """Return `column_of` of several facts, but faster."""
    first = rows[0] if rows else None
    if not isinstance(first, FactRow):
        return [column_of(rows, name) for name in names]
    positions = first._places
    if not all(isinstance(row, FactRow) and row._places is positions for row in rows):
        return [column_of(rows, name) for name in names]
    columns = list(zip(*[row._values for row in rows], strict=True))  # type: ignore[attr-defined]
    unknown = [None] * len(rows)
    return [columns[positions[name]] if name in positions else unknown for name in names]


def value_of(facts: Facts, kind: FactKind) -> FactValue:
    """Return the value of a fact, or None if it is unknown."""
    return value_named(facts, kind.name)


def value_named(facts: Facts, name: str) -> FactValue:
    """Return the value of the fact called `name`, or None if it is unknown."""
    if isinstance(facts, FactRow):
        return facts.value(name)
    fact = facts.get(name)
    return None if fact is None else fact.value


def number_of(facts: Facts, kind: FactKind) -> float | None:
    """Return the value of a fact if it is a number."""
    value = value_of(facts, kind)
    return value if isinstance(value, int | float) else None


def evidence_of(facts: Facts, kind: FactKind) -> tuple[Evidence, ...]:
    """Return the lines that prove a fact."""
    fact = facts.get(kind.name)
    return () if fact is None else fact.evidence


def change_text(kind: FactKind, a: FactValue, b: FactValue) -> str:
    """Say how a fact changed: "Registers per thread: 64 -> 128", "Occupancy: 50% -> 12.5%"."""
    return f"{kind.subject}: {kind.format(a)} -> {kind.format(b)} {kind.unit_in_text}".rstrip()


def status_of(variant: Variant, facts: Facts) -> Status | None:
    """Return whether `variant` compiled and can be launched, or None if that is unknown."""
    if variant.failure is not None:
        return failed(f"{variant.failure.kind}: {variant.failure.summary}")
    value = value_named(facts, "launchable")
    return value if isinstance(value, Status) else None


def _format_microseconds(value: FactValue) -> str:
    return microseconds_text(value) if isinstance(value, int | float) else format_value(value)


ESTIMATE = FactKind(
    "estimate", "Estimate us", "microseconds", "low", "estimated time of the first launch, in microseconds",
    "Estimated time", format=_format_microseconds, place=-5,
)  # fmt: skip
BOUND_BY = FactKind(
    "bound", "Bound by", "", "", "what limits the first launch, according to the estimate", place=-4
)
ESTIMATE_KEY = FactKind(
    "estimate_key", "Estimate for", "", "", "the arguments of the launch that is estimated"
)
ESTIMATE_KINDS = (ESTIMATE, BOUND_BY, ESTIMATE_KEY)
