"""The columns of the table of variants: which vary, which come first, and what all variants have in common.

num_warps  Regs  Occupancy  Differs in       the columns that vary, most telling first
all: num_stages=3, target cuda:90, Stack 0   `constants_text` lists the others
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from irscope.facts.fact import FactKind, Facts, FactValue
from irscope.model import Status, Target, Value, Variant, format_value
from irscope.workspace.fact_table import FactTable
from irscope.workspace.first_difference import first_difference, joined, state
from irscope.workspace.live import InProgress
from irscope.workspace.table_sections import BestValues, best_values

# The cell of a fact that is still to be measured.
UNMEASURED = "·"
# Types whose equal values are written alike; True is not 1, and -0.0 is equal to 0.0.
_WRITTEN_ALIKE = frozenset((int, str, type(None)))
# Every table has Triton's options, so their columns have short titles.
_SHORT_TITLES = {"num_warps": "warps", "num_stages": "stages", "num_ctas": "ctas"}
# The names of the columns that are neither a fact nor a config value.
NUMBER, STATE, DIFFERS = "#", "state", "differs"
_ALWAYS = (NUMBER, DIFFERS)
_VERSIONS = ("triton", "source")
_NOUNS = ("kernel", "target", *_VERSIONS)

ColumnValue = FactValue | Value
_Problem = tuple[str, Target]


@dataclass(frozen=True)
class Column:
    """A column: a heading, and a value for each variant.

    `name` is the full name of the fact or option, `fact` its kind if it is a fact; `joins`: a row of
    several variants shows all their values. `values` returns the values of variants, None if unknown;
    `write` makes text of one.
    """

    title: str
    name: str
    values: Callable[[Sequence[Variant]], Sequence[ColumnValue]]
    write: Callable[[ColumnValue], str] = lambda value: "" if value is None else str(value)
    numeric: bool = False
    fact: FactKind | None = None
    joins: bool = False

    def value(self, variant: Variant) -> ColumnValue:
        """Return the value of one variant; None if it is unknown."""
        return self.values((variant,))[0]

    def text(self, variant: Variant) -> str:
        """Return the cell of a variant, without a mark; "" if the value is unknown."""
        return self.write(self.value(variant))

    def joined_text(self, variants: Sequence[Variant]) -> str:
        """Return the cell of variants that share a row.

        It has all values if the column joins them, else the first.
        """
        if not self.joins:
            return self.text(variants[0])
        return joined((value for value in self.values(variants) if value is not None), self.write)

    def constant_text(self, value: ColumnValue) -> str:
        """Write the column as if all variants have this value: `num_ctas=1`, `Stack 0 B`."""
        if self.fact is not None:
            return self.fact.titled(self.write(value))
        return f"{self.name} {value}" if self.name in _NOUNS else f"{self.name}={value}"


@dataclass(frozen=True)
class ColumnSummary:
    """The values of a column in a table, with the number of variants that have each.

    `unknown` is how many variants that compiled and were measured have none. `best` returns the best of them
    among the variants of a problem, a kernel for a target.
    """

    counts: Mapping[ColumnValue, int]
    unknown: int = 0
    best: Callable[[_Problem], BestValues] = lambda _: BestValues()

    def constant(self, variants: int) -> bool:
        """Check whether all variants have the same value, or no known one; `variants` is their number."""
        return not self.counts or (len(self.counts) < 2 and not self.unknown and variants > 1)

    def mark(self, variant: Variant, value: ColumnValue) -> str:
        """Return `best` or `worst` if the value of a variant is marked; "" if not."""
        return self.best(_problem(variant)).mark(variant.id, value)


def _one_by_one(a: Variant, variants: Sequence[Variant]) -> list[str]:
    return [first_difference(a, variant) for variant in variants]


def columns(
    variants: Sequence[Variant],
    kinds: Sequence[FactKind],
    facts: FactTable,
    in_progress: InProgress,
    age: Callable[[Variant], str] = lambda _: "",
    a: Callable[[], Variant | None] = lambda: None,
    differences: Callable[[Variant, Sequence[Variant]], Sequence[str]] = _one_by_one,
) -> list[Column]:
    """Return the columns for `variants`, most telling first: number, what was chosen, facts, state.

    `facts` and `in_progress` may change later. `age` is how old a variant's source is, or which
    file has it; `a` is the variant that the others are compared with, and `differences` the
    first stage in which each differs from it.
    """
    first_stages: dict[tuple[int, int], str] = {}  # of many variants, artifacts are read from the file

    def differs(some: Sequence[Variant]) -> list[str]:
        first = a()
        if first is None:
            return [""] * len(some)
        unknown = [variant for variant in some if (first.id, variant.id) not in first_stages]
        for variant, stage in zip(unknown, differences(first, unknown), strict=True):
            first_stages[first.id, variant.id] = stage
        return [first_stages[first.id, variant.id] for variant in some]

    # The facts of most interest come first, those of least interest last: the time and size of each stage.
    ordered = sorted((kind for kind in kinds if not kind.in_state), key=lambda kind: kind.place)
    before = [kind for kind in ordered if kind.place < 0]
    after = [kind for kind in ordered if kind.place > 0]
    rest = sorted((kind for kind in ordered if not kind.place), key=lambda kind: kind.minor)
    return [
        Column("#", NUMBER, lambda some: [variant.id for variant in some], str, numeric=True),
        *_chosen(variants, age),
        *(_fact(kind, facts) for kind in before),
        Column("Differs in", DIFFERS, differs),
        _per_variant("state", STATE, lambda variant: state(variant, facts, in_progress)),
        *(_fact(kind, facts) for kind in (*after, *rest)),
    ]


def summarize_columns(
    columns: Sequence[Column], variants: Sequence[Variant], facts: FactTable
) -> list[ColumnSummary]:
    """Count the values of each column; none for the stages that differ, which are shown anyway."""
    names = [column.name for column in columns if column.fact]
    values = dict(zip(names, facts.columns(names, variants), strict=True))
    unmeasured = sum(variant.failure is not None or variant.id not in facts for variant in variants)
    known = facts.known
    problems: dict[_Problem, dict[int, Facts]] = {}
    for variant in variants:
        problems.setdefault(_problem(variant), {})[variant.id] = known.get(variant.id, {})
    summaries = []
    for column in columns:
        if column.fact is not None:
            counts = Counter[ColumnValue](values[column.name])
            unknown = max(counts.pop(None, 0) - unmeasured, 0)
            best = cache(partial(_best_values, column.fact, counts, problems, facts))
            summaries.append(ColumnSummary(counts, unknown, best))
        elif column.name == DIFFERS:
            summaries.append(ColumnSummary({}))
        else:
            counts = _count_texts(column.values(variants), column.write)
            summaries.append(ColumnSummary(counts, counts.pop("", 0)))
    return summaries


def _problem(variant: Variant) -> _Problem:
    return variant.kernel.name, variant.target


def _best_values(
    kind: FactKind,
    counts: Mapping[ColumnValue, int],
    problems: Mapping[_Problem, Mapping[int, Facts]],
    facts: FactTable,
    problem: _Problem,
) -> BestValues:
    own_counts = counts if len(problems) == 1 else None
    return best_values(kind, problems[problem], facts.with_problem, facts.spilling, own_counts)


def _count_texts(values: Sequence[ColumnValue], write: Callable[[ColumnValue], str]) -> Counter[ColumnValue]:
    """Count how many values are written as each text."""
    if not _WRITTEN_ALIKE.issuperset(set(map(type, values))):
        return Counter(map(write, values))
    counts: Counter[ColumnValue] = Counter()
    for value, count in Counter(values).items():
        counts[write(value)] += count
    return counts


def shown_columns(
    columns: Sequence[Column], summaries: Sequence[ColumnSummary], variants: int, constants: bool = False
) -> list[int]:
    """Return the places of the columns to show: those that vary, and constant ones if `constants`.

    The state is shown if some variants have equal machine code; problems have their own text in
    the row. If nothing varies (one variant), all columns are shown that say something.
    """
    indices = []
    for index, (column, summary) in enumerate(zip(columns, summaries, strict=True)):
        if column.name == STATE:
            if any(str(text).startswith("=") for text in summary.counts):
                indices.append(index)
        elif column.name in _ALWAYS or not summary.constant(variants):
            if informative(column, summary):
                indices.append(index)
        elif constants and informative(column, summary):
            indices.append(index)
    return indices


def informative(column: Column, summary: ColumnSummary) -> bool:
    """Check whether a column says something: a fact is known and not 0 or absent for some variant.

    A stack of 0 is informative, because registers without it mislead.
    """
    if column.fact is None:
        return True
    absent = column.fact.absent
    empty = () if column.fact.name == "stack" else (0, absent, "none")
    return any(value not in empty for value in summary.counts)


def constants_text(columns: Sequence[Column], summaries: Sequence[ColumnSummary], variants: int) -> str:
    """Return the values of all variants: `all: num_ctas=1, target cuda:90, Stack 0`; "" if none."""
    parts: list[tuple[int, str]] = []
    for column, summary in zip(columns, summaries, strict=True):
        if column.name in (STATE, *_ALWAYS) or not summary.constant(variants) or not summary.counts:
            continue
        if informative(column, summary):
            # Choices come first, then results; the versions, which rarely matter, last.
            rank = 3 if column.name in _VERSIONS else 2 if column.fact else 1 if column.name in _NOUNS else 0
            parts.append((rank, column.constant_text(next(iter(summary.counts)))))
    texts = [text for _, text in sorted(parts, key=lambda part: part[0])]
    return f"all: {', '.join(texts)}" if texts else ""


def _chosen(variants: Sequence[Variant], age: Callable[[Variant], str]) -> list[Column]:
    """Return the choices made for each variant: kernel, target, versions, config, argument types."""
    settings = {variant.id: variant.settings for variant in variants}
    names = dict.fromkeys(name for chosen in settings.values() for name in chosen)
    result = [
        _per_variant("kernel", "kernel", lambda variant: variant.kernel.name),
        _per_variant("target", "target", lambda variant: str(variant.target)),
        Column("triton", "triton", _tritons, joins=True),
        Column("source", "source", lambda some: [age(variant) for variant in some], joins=True),
        *(_setting(name, settings) for name in names),
    ]
    # The variants of a capture share equal specializations: each is hashed once.
    specializations = set({id(v.specialization): v.specialization for v in variants}.values())
    if len(specializations) > 1:
        arguments = dict.fromkeys(argument.name for arguments in specializations for argument in arguments)
        result += [_argument(name) for name in arguments if name not in names]
    return result


def _tritons(variants: Sequence[Variant]) -> Sequence[ColumnValue]:
    return [variant.toolchain.versions.get("triton", "?") for variant in variants]


def _per_variant(title: str, name: str, text: Callable[[Variant], str]) -> Column:
    return Column(title, name, lambda some: [text(variant) for variant in some])


def _setting(name: str, settings: Mapping[int, Mapping[str, Value]]) -> Column:
    def values(some: Sequence[Variant]) -> Sequence[ColumnValue]:
        settings_of_each = [settings.get(variant.id) or variant.settings for variant in some]
        return [_known(chosen[name]) if name in chosen else None for chosen in settings_of_each]

    numeric = str not in {type(chosen.get(name)) for chosen in settings.values()}
    return Column(_SHORT_TITLES.get(name, name), name, values, _setting_text, numeric, joins=True)


def _known(value: Value) -> ColumnValue:
    """Return a config value; None is a value too, and not an unknown one."""
    return "None" if value is None else value


def _setting_text(value: ColumnValue) -> str:
    if value is None or isinstance(value, Status):
        return ""
    return "None" if value == "None" else format_value(value)


def _argument(name: str) -> Column:
    def text(variant: Variant) -> str:
        return next((str(argument) for argument in variant.specialization if argument.name == name), "")

    return _per_variant(name, name, text)


def _fact(kind: FactKind, facts: FactTable) -> Column:
    def write(value: ColumnValue) -> str:
        return kind.format(value) if isinstance(value, int | float | str | Status) else ""

    return Column(
        kind.heading, kind.name, lambda some: facts.column(kind.name, some), write, bool(kind.unit), kind
    )
