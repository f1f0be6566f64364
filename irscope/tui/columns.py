"""The columns of the table of variants: the config values that vary, then the facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irscope.model import Status, Value, Variant, format_value
from irscope.model.varying import varying
from irscope.workspace import FactKind, FactTable, InProgress

# For sorting: numbers, then text, then unknown values.
SortKey = tuple[int, float, str]

UNKNOWN: SortKey = (2, 0.0, "")
_ZERO: SortKey = (0, 0.0, "")
_NUMBERS = (int, float)
# A value is highlighted if at most one in this many variants has it.
_RARE = 4
# Every table has Triton's options, so their columns have short titles.
_SHORT_TITLES = {"num_warps": "warps", "num_stages": "stages", "num_ctas": "ctas"}
# The facts of most interest come first. The column `state` shows the others.
_FIRST_FACTS = (
    "registers", "stack", "shared", "occupancy", "load_width", "matrix", "instructions", "conversions",
    "pipeline_depth", "seconds",
)  # fmt: skip
_IN_STATE = ("launchable", "code")


@dataclass(frozen=True)
class Column:
    """A column: its title, the text and the sort key of a variant's cell.

    `name` is the full name of the fact or option, if not the title. `fact` is the kind of fact that the
    column has, if any.
    """

    title: str
    text: Callable[[Variant], str]
    key: Callable[[Variant], SortKey]
    numeric: bool = True
    name: str = ""
    fact: FactKind | None = None

    def informative(self, variant: Variant) -> bool:
        """Whether the cell of a variant is a reason to show the column: not if a fact is unknown or 0.

        A stack of 0 is informative, because registers without it mislead.
        """
        if self.fact is None:
            return True
        absent = UNKNOWN if self.fact.absent is None else _sort_key(self.fact.absent)
        empty = (UNKNOWN,) if self.fact.name == "stack" else (UNKNOWN, _ZERO, absent)
        return self.key(variant) not in empty

    def number(self, variant: Variant) -> float | None:
        """The number in a variant's cell; None if it is not a number."""
        rank, number, _ = self.key(variant)
        return number if rank == _ZERO[0] else None


def columns(
    variants: Sequence[Variant],
    kinds: Sequence[FactKind],
    facts: FactTable,
    in_progress: InProgress,
    age: Callable[[Variant], str] = lambda _: "",
) -> list[Column]:
    """The columns for `variants`: number, config values that vary, state, facts.

    `facts` and `in_progress` may change later. `age` is how old a variant's source is.
    """
    first = [kind for name in _FIRST_FACTS for kind in kinds if kind.name == name]
    rest = [kind for kind in kinds if kind not in first and kind.name not in _IN_STATE]
    return [
        Column("#", lambda variant: str(variant.id), lambda variant: (0, variant.id, "")),
        *_varying(variants, age),
        _text("state", lambda variant: state(variant, facts, in_progress)),
        *(_fact(kind, facts) for kind in (*first, *rest)),
    ]


def state(variant: Variant, facts: FactTable, in_progress: InProgress) -> str:
    """`ok`, `=#3` for a duplicate of variant 3, `!failed`, `!launch`, or how far the compilation is."""
    if variant.id in in_progress:
        return in_progress.status(variant.id)
    if variant.failure is not None:
        return "!failed"
    status = facts.status(variant)
    if status is not None and not status.ok:
        return "!launch"
    first = facts.duplicate_of(variant)
    return "ok" if first is None else f"=#{first}"


def _varying(variants: Sequence[Variant], age: Callable[[Variant], str]) -> list[Column]:
    """The columns that do not have the same text for all variants; the whole config if there are none."""
    names = dict.fromkeys(name for variant in variants for name in variant.settings)
    candidates = [
        _text("kernel", lambda variant: variant.kernel.name),
        _text("target", lambda variant: str(variant.target)),
        _text("triton", lambda variant: variant.toolchain.versions.get("triton", "?")),
        _text("source", age),
        *map(_config, names),
    ]
    rows = [{column.title: column.text(variant) for column in candidates} for variant in variants]
    titles = varying(rows)
    found = [column for column in candidates if column.title in titles]
    return found or [_text("config", lambda variant: str(variant.config))]


def _text(title: str, text: Callable[[Variant], str]) -> Column:
    return Column(title, text, lambda variant: (1, 0.0, text(variant)), numeric=False)


def _config(name: str) -> Column:
    def text(variant: Variant) -> str:
        values = variant.settings
        return format_value(values[name]) if name in values else ""

    def key(variant: Variant) -> SortKey:
        return _sort_key(variant.settings[name]) if text(variant) else UNKNOWN

    return Column(_SHORT_TITLES.get(name, name), text, key, name=name)


def _fact(kind: FactKind, facts: FactTable) -> Column:
    def text(variant: Variant) -> str:
        fact = facts.get(variant.id, kind.name)
        if fact is None or variant.failure is not None:
            return "" if variant.id in facts or variant.failure else "·"
        return str(fact)

    def key(variant: Variant) -> SortKey:
        value = facts.value(variant.id, kind.name)
        return UNKNOWN if value is None else _sort_key(value)

    return Column(kind.title, text, key, numeric=bool(kind.unit), name=kind.name, fact=kind)


def _sort_key(value: Value | Status) -> SortKey:
    return (0, float(value), "") if isinstance(value, _NUMBERS) else (1, 0.0, str(value))


class Heatmap:
    """Marks the highest and the lowest numbers of a column. `better` is "low", "high" or ""."""

    def __init__(self, better: str) -> None:
        self._better = better
        self._counts: Counter[float] = Counter()
        self._low = self._high = 0.0

    def add(self, value: float) -> None:
        """Adds a variant's value."""
        if not self._counts:
            self._low = self._high = value
        self._counts[value] += 1
        self._low, self._high = min(self._low, value), max(self._high, value)

    def mark(self, value: float) -> tuple[str, str]:
        """The sign and style class of a value: highest or lowest, good or bad; "" for all others."""
        rare = self._counts[value] <= max(1, self._counts.total() // _RARE)
        if not self._better or self._low == self._high or not rare:
            return "", ""
        if value == self._high:
            return "▲", "heat--good" if self._better == "high" else "heat--bad"
        if value == self._low:
            return "▼", "heat--good" if self._better == "low" else "heat--bad"
        return "", ""
