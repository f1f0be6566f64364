"""The criterion of a bisection: the value of a fact, or whether an expectation holds."""

from __future__ import annotations

from collections.abc import Mapping

from irscope.facts.fact import Fact, FactKind, FactValue
from irscope.facts.registry import facts_named
from irscope.model import Status, UserError
from irscope.model.records import frozen
from irscope.workspace.conditions import ALIASES, FactComparison, parse_expectation, unmet

# Facts of the machine that compiles and of measurements: they are no property of the code.
_NOT_OF_CODE = ("seconds", "ms", "ms_key", "chosen")


@frozen
class Reading:
    """The criterion's value for one compiled variant.

    `text` is the value as views show it. `number` is the value if it has an order (for an expectation: 1 if
    it fails, 0 if it holds), else None. `value` is the value itself.
    """

    text: str
    number: float | None
    value: FactValue


@frozen
class Criterion:
    """A fact (`kind`), or an expectation (`comparisons`, written as `text`) that a good variant meets."""

    text: str
    kind: FactKind | None = None
    comparisons: tuple[FactComparison, ...] = ()

    @property
    def label(self) -> str:
        """The fact's name in a sentence, or the expectation."""
        return self.kind.subject if self.kind else self.text

    def read(self, facts: Mapping[str, Fact]) -> Reading | None:
        """Return the reading of a variant's facts; None if they lack a fact that it needs."""
        if self.kind is None:
            return self._read_check(facts)
        fact = facts.get(self.kind.name)
        if fact is None or fact.value is None:
            return None
        value = fact.value
        ordered = self.kind.better and isinstance(value, int | float)
        number = (-1.0 if self.kind.better == "high" else 1.0) * float(value) if ordered else None  # type: ignore[arg-type]
        return Reading(str(fact), number, str(value) if isinstance(value, Status) else value)

    def _read_check(self, facts: Mapping[str, Fact]) -> Reading | None:
        names = dict.fromkeys(comparison.fact for comparison in self.comparisons)
        found = [facts[name] for name in names if name in facts]
        if len(found) < len(names) or any(fact.value is None for fact in found):
            return None
        fails = next(iter(unmet(self.comparisons, facts)), None) is not None
        values = ", ".join(f"{fact.kind.name} {fact}" for fact in found)
        return Reading(f"{values}: {'fails' if fails else 'holds'}", float(fails), fails)

    def is_worse(self, good: Reading, bad: Reading) -> bool:
        """Whether `bad` is worse than `good`; facts without a better direction: whether it is another."""
        if good.number is None or bad.number is None:
            return good.value != bad.value
        return bad.number > good.number

    def badness(self, reading: Reading | None, good: Reading, bad: Reading) -> float | None:
        """How bad a reading is: 0 like `good`, 1 like `bad`, between them in proportion; None: unknown."""
        if reading is None:
            return None
        if None not in (reading.number, good.number, bad.number) and bad.number != good.number:
            return (reading.number - good.number) / (bad.number - good.number)  # type: ignore[operator]
        if reading.value == good.value:
            return 0.0
        return 1.0 if reading.value == bad.value else None


def criterion_of(fact: str | None, expectation: str | None) -> Criterion:
    """Return the criterion of `--fact` or `--check`. Raises UserError if it is unknown or malformed."""
    if (fact is None) == (expectation is None):
        raise UserError("specify either --fact or --check, such as --fact registers or --check 'spills == 0'")
    if expectation is not None:
        return Criterion(expectation, comparisons=parse_expectation(expectation))
    name = ALIASES.get(str(fact), str(fact))
    kinds = facts_named([name])
    if name not in kinds or name in _NOT_OF_CODE or name.endswith("_seconds"):
        known = [kind for kind in kinds if kind not in _NOT_OF_CODE and not kind.endswith("_seconds")]
        raise UserError(
            f"--fact: no fact '{fact}' of the code; the facts are: {', '.join([*known, *ALIASES])}"
        )
    return Criterion(name, kinds[name])
