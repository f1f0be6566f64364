"""The columns of the table of variants: what sets the configs apart, then the facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from irscope.facts.fact import Fact, FactKind, FactValue, status_of
from irscope.model import Status, Value, Variant, format_value
from irscope.workspace.live import InProgress

# Numbers before words before what is not known; what sorted() compares.
SortKey = tuple[int, float, str]

UNKNOWN: SortKey = (2, 0.0, "")
_ZERO: SortKey = (0, 0.0, "")
_NUMBERS = (int, float)
# Triton's options are in every table, so their columns have short titles.
_SHORT_TITLES = {"num_warps": "warps", "num_stages": "stages", "num_ctas": "ctas"}
# The facts that are asked for most stand first; these two are what the column `state` says.
_FIRST_FACTS = (
    "registers", "stack", "shared", "occupancy", "load_width", "matrix", "instructions", "conversions",
    "buffers", "seconds",
)  # fmt: skip
_IN_STATE = ("launchable", "code")


class FactTable:
    """The facts of the variants, as far as they have been measured; which variants are not yet compiled."""

    def __init__(self) -> None:
        self.under_way = InProgress()
        self._facts: dict[int, Mapping[str, Fact]] = {}
        self._first_with: dict[FactValue, int] = {}

    def add(self, variant: int, facts: Mapping[str, Fact]) -> None:
        """The facts of the variant with this id are known now."""
        self._facts[variant] = facts
        code = self.value(variant, "code")
        if code is not None:
            self._first_with[code] = min(variant, self._first_with.get(code, variant))

    def forget(self, variant: int) -> None:
        """The variant with this id was compiled anew."""
        self._facts.pop(variant, None)

    @property
    def known(self) -> Mapping[int, Mapping[str, Fact]]:
        """The facts of the measured variants, by id and name."""
        return self._facts

    def __contains__(self, variant: int) -> bool:
        return variant in self._facts

    def get(self, variant: int, name: str) -> Fact | None:
        """A fact, None where the variant has none of that name or is not measured yet."""
        return self._facts.get(variant, {}).get(name)

    def value(self, variant: int, name: str) -> FactValue:
        """A fact's value, None where it is not known."""
        fact = self.get(variant, name)
        return None if fact is None else fact.value

    def status(self, variant: Variant) -> Status | None:
        """Whether a variant compiled and can be launched; None if that is unknown."""
        return status_of(variant, self._facts.get(variant.id, {}))

    def twin(self, variant: int) -> int | None:
        """The first variant with the same machine code, if that is another one."""
        first = self._first_with.get(self.value(variant, "code"), variant)
        return first if first < variant else None


@dataclass(frozen=True)
class Column:
    """A column: its title, what it says of a variant, and by what it is sorted.

    `name` is that of the fact or the option in full, where the title is another. `fact` is what kind of
    fact it holds; such a column is worth its room once a value is neither unknown nor 0. Stack is worth
    it as 0 too: registers without it mislead.
    """

    title: str
    text: Callable[[Variant], str]
    key: Callable[[Variant], SortKey]
    numeric: bool = True
    name: str = ""
    fact: FactKind | None = None

    def tells(self, variant: Variant) -> bool:
        """Whether what it says of a variant is worth a column."""
        if self.fact is None:
            return True
        nothing = (UNKNOWN,) if self.fact.name == "stack" else (UNKNOWN, _ZERO)
        return self.key(variant) not in nothing

    def number(self, variant: Variant) -> float | None:
        """Its number for a variant, None where it has none."""
        rank, number, _ = self.key(variant)
        return number if rank == _ZERO[0] else None


def columns(
    variants: Sequence[Variant],
    kinds: Sequence[FactKind],
    facts: FactTable,
    age: Callable[[Variant], str] = lambda _: "",
) -> list[Column]:
    """The columns for `variants`: number, what differs between them, state, facts.

    `facts` may fill up later. `age` says how old a variant's source is.
    """
    first = [kind for name in _FIRST_FACTS for kind in kinds if kind.name == name]
    rest = [kind for kind in kinds if kind not in first and kind.name not in _IN_STATE]
    return [
        Column("#", lambda variant: str(variant.id), lambda variant: (0, variant.id, "")),
        *_telling(variants, age),
        _words("state", lambda variant: state(variant, facts)),
        *(_fact(kind, facts) for kind in (*first, *rest)),
    ]


def state(variant: Variant, facts: FactTable) -> str:
    """`ok`, `=#3` where the machine code is that of an earlier variant, or `!` and what went wrong.

    Of a variant that is not compiled yet, how far it is.
    """
    if variant.id in facts.under_way:
        return facts.under_way.words(variant.id)
    if variant.failure is not None:
        return "!failed"
    status = facts.status(variant)
    if status is not None and not status.ok:
        return "!launch"
    twin = facts.twin(variant.id)
    return f"=#{twin}" if twin else "ok"


def trouble(variant: Variant, facts: FactTable) -> str:
    """What is wrong with a variant, in a line; "" for nothing."""
    if variant.failure is not None:
        return f"{variant.failure.kind}: {variant.failure.summary}"
    status = facts.status(variant)
    return status.problem if status is not None else ""


def _telling(variants: Sequence[Variant], age: Callable[[Variant], str]) -> list[Column]:
    """A column for everything that is not the same in all variants; the config where nothing is."""
    words = [
        _words("kernel", lambda variant: variant.kernel.name),
        _words("target", lambda variant: str(variant.target)),
        _words("triton", lambda variant: variant.toolchain.versions.get("triton", "?")),
        _words("source", age),
    ]
    names = dict.fromkeys(name for variant in variants for name, _ in variant.config.values)
    found = [*words, *map(_config, names)]
    telling = [column for column in found if len({column.text(variant) for variant in variants}) > 1]
    return telling or [_words("config", lambda variant: str(variant.config))]


def _words(title: str, text: Callable[[Variant], str]) -> Column:
    return Column(title, text, lambda variant: (1, 0.0, text(variant)), numeric=False)


def _config(name: str) -> Column:
    def text(variant: Variant) -> str:
        values = dict(variant.config.values)
        return format_value(values[name]) if name in values else ""

    def key(variant: Variant) -> SortKey:
        return _sort_key(variant.config.get(name)) if text(variant) else UNKNOWN

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
