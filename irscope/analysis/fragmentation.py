"""Arguments that multiply the compilations of a kernel because Triton specializes on their values.

M: 1, i32 divisible by 16, i32   x   12 configs = 36 compilations
do_not_specialize=['M']                         = 12, with the code of M: i32
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from irscope.facts.fact import Fact, change_text
from irscope.model import Argument, Config
from irscope.model.frozen_value import FrozenValue
from irscope.model.text import pluralize

# Changes that are listed per argument, the most important first.
_MOST_CHANGES = 5
# Facts that change with every compilation, or follow from others.
_NO_PRICE = frozenset(["seconds", "ms", "code"])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compilation(FrozenValue):
    """A compilation of a kernel: the specialization and the config."""

    specialization: tuple[Argument, ...]
    config: Config


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fragmentation(FrozenValue):
    """The saving if Triton did not specialize on `arguments`: `without` instead of `total` compilations.

    `group` are compilations that would then be one: `generic`.
    """

    kernel: str
    arguments: tuple[str, ...]
    total: int
    without: int
    group: tuple[Compilation, ...]
    generic: Compilation

    @property
    def saved(self) -> int:
        """How many compilations it saves."""
        return self.total - self.without

    @property
    def remedy(self) -> str:
        """The argument of `triton.jit` that avoids them: "do_not_specialize=['M']"."""
        return f"do_not_specialize={list(self.arguments)}"


def fragmentations(kernel: str, compilations: Sequence[Compilation]) -> tuple[Fragmentation, ...]:
    """Each argument that costs compilations, most first; then all of them together, if that saves more."""
    types = _types(compilations)
    values: dict[str, set[Argument]] = {}
    for argument in (argument for one in compilations for argument in one.specialization):
        if argument.name in types and _is_integer(argument):
            values.setdefault(argument.name, set()).add(argument)
    names = tuple(name for name, of in values.items() if len(of) > 1)
    single = [_without(kernel, (name,), compilations, types) for name in names]
    single = sorted((each for each in single if each.saved), key=lambda each: -each.saved)
    if len(names) > 1:
        whole = _without(kernel, names, compilations, types)
        for name in names:
            rest = _without(kernel, tuple(n for n in whole.arguments if n != name), compilations, types)
            whole = rest if rest.saved == whole.saved else whole
        if whole.saved > max((each.saved for each in single), default=0):
            return (*single, whole)
    return tuple(single)


def _is_integer(argument: Argument) -> bool:
    if argument.type == "constexpr":
        return argument.value == 1 and type(argument.value) is int
    return argument.type in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def _types(compilations: Iterable[Compilation]) -> dict[str, str]:
    """The narrowest integer type of each argument; one that is always the constant 1 has none."""
    found: dict[str, str] = {}
    for one in compilations:
        for argument in one.specialization:
            if argument.type != "constexpr" and _is_integer(argument):
                found[argument.name] = min(found.get(argument.name, argument.type), argument.type)
    return found


def _without(
    kernel: str, names: tuple[str, ...], compilations: Sequence[Compilation], types: Mapping[str, str]
) -> Fragmentation:
    groups: dict[Compilation, list[Compilation]] = {}
    for one in compilations:
        groups.setdefault(_generic(one, names, types), []).append(one)
    generic, largest = max(groups.items(), key=lambda item: len(item[1]))
    return Fragmentation(kernel, names, len(compilations), len(groups), tuple(largest), generic)


def _generic(one: Compilation, names: Sequence[str], types: Mapping[str, str]) -> Compilation:
    """The compilation without specialization on these arguments; of a wide integer, the type stays."""
    return replace(
        one,
        specialization=tuple(
            Argument(each.name, types[each.name] if each.type == "constexpr" else each.type, None)
            if each.name in names and _is_integer(each)
            else each
            for each in one.specialization
        ),
    )


def same_code(a: Compilation, b: Compilation) -> bool:
    """Whether two compilations give the same code: not specialized on, and specialized on nothing known."""
    return a.config == b.config and list(map(_known, a.specialization)) == list(map(_known, b.specialization))


def _known(argument: Argument) -> Argument:
    return replace(argument, key=argument.key or "")


def price(specialized: Mapping[str, Fact], generic: Mapping[str, Fact]) -> tuple[str, ...]:
    """The facts in which the generic code differs, the most important first; empty if the code is equal."""
    if _value(specialized, "code") is not None and _value(specialized, "code") == _value(generic, "code"):
        return ()
    changed = [
        (fact.kind, fact.value, generic[name].value)
        for name, fact in specialized.items()
        if fact.kind.weight
        and name not in _NO_PRICE
        and name in generic
        and fact.value != generic[name].value
    ]
    ordered = sorted(changed, key=lambda change: -change[0].weight)
    texts = [change_text(*change) for change in ordered[:_MOST_CHANGES]]
    return tuple(texts) or ("the machine code differs, but no fact does",)


def _value(facts: Mapping[str, Fact], name: str) -> object:
    return facts[name].value if name in facts else None


def fragmentation_text(found: Fragmentation, changes: Mapping[str, tuple[str, ...]]) -> str:
    """The saving and its price; `changes` are those of each specialization, by its text."""
    saving = f"{found.remedy} would save {found.saved} of {pluralize(found.total, 'compilation')}"
    priced = {name: texts for name, texts in changes.items() if texts}
    if not changes:
        return f"{saving}; its price was not measured"
    if not priced:
        return f"{saving} at no price: the machine code is identical ({found.generic.config})"
    name, texts = max(priced.items(), key=lambda item: len(item[1]))
    return f"{saving}, at this price for {name} ({found.generic.config}): {'; '.join(texts)}"


def specialization_text(one: Compilation, names: Sequence[str]) -> str:
    """The specialization of these arguments: "M=i32:16, stride=1"."""
    return ", ".join(f"{each.name}={each}" for each in one.specialization if each.name in names)
