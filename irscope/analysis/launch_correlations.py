"""The arguments of recorded launches that depend on each other: strides that equal sizes, multiples of them.

M=128 N=1024 K=512 stride_am=512 stride_bk=1024  ->  stride_am moves with K, stride_bk with N
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.model import OPTION_NAMES, Expression, Value
from irscope.model.frozen_value import FrozenValue

_INTEGER = re.compile(r"-?\d{1,20}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LaunchCase(FrozenValue):
    """The arguments of a launch.

    `arguments` are run-time arguments as text (see `model.Launch`; a pointer may also be its type, "*fp16"),
    `constants` constexprs and options. The tensors in `unaligned` are at addresses not divisible by 16.
    `choices` are the arguments that an axis changed, with their values; empty for a recorded launch.
    """

    arguments: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, Value | Expression], ...] = ()
    unaligned: frozenset[str] = frozenset()
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Follower(FrozenValue):
    """An argument that is `ratio` times another; `launches` is in how many different values it was so."""

    name: str
    ratio: int
    values: int


def followers(
    name: str, cases: Sequence[LaunchCase], fixed: frozenset[str] = frozenset()
) -> tuple[Follower, ...]:
    """The arguments that are equal to or a fixed multiple of `name` in all recorded launches.

    If it had only one value, a multiple must be called a stride and must not be the value of another
    argument, because many a number is a multiple of a small one.
    """
    rows = [dict(case.arguments) for case in cases]
    rows = [row for row in rows if _INTEGER.fullmatch(row.get(name, ""))]
    names = dict.fromkeys(other for row in rows for other in row if other != name and other not in fixed)
    found = {other: each for other in names if (each := _follower(name, other, rows)) is not None}
    sure = {other for other, each in found.items() if each.ratio == 1 or each.values > 1}
    sizes = {
        value
        for row in rows
        for other, value in row.items()
        if other != name and other not in sure and not _is_stride(other)
    }
    return tuple(
        each
        for other, each in found.items()
        if other in sure or (_is_stride(other) and not any(row.get(other) in sizes for row in rows))
    )


def _follower(name: str, other: str, rows: Sequence[Mapping[str, str]]) -> Follower | None:
    if not all(_INTEGER.fullmatch(row.get(other, "")) for row in rows):
        return None
    pairs = {(int(row[name]), int(row[other])) for row in rows}
    largest, of_largest = max(pairs, default=(0, 0))
    if largest < 2 or of_largest < largest or of_largest % largest:
        return None
    ratio = of_largest // largest
    if any(own != ratio * value for value, own in pairs):
        return None
    return Follower(other, ratio, len(pairs))


def _is_stride(name: str) -> bool:
    return "stride" in name.lower()


def following_constants(
    argument: str, cases: Sequence[LaunchCase]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Constexprs that the program seems to compute from an argument, with their recorded values.

    Each differs between launches, but not between launches with the same value of the argument; or it is
    the power of two that follows the only value.
    """
    rows = [(dict(case.arguments), dict(case.constants)) for case in cases]
    known = [(given[argument], own) for given, own in rows if argument in given]
    found = []
    for name in dict.fromkeys(name for _, own in known for name in own if name not in OPTION_NAMES):
        pairs = {(value, own[name]) for value, own in known if type(own.get(name)) is int}
        values = sorted({constant for _, constant in pairs if type(constant) is int})
        several = len(values) > 1 and len({value for value, _ in pairs}) == len(pairs)
        if several or (len(pairs) == 1 and _is_next_power(*next(iter(pairs)))):
            found.append((name, tuple(map(str, values))))
    return tuple(found)


def _is_next_power(value: str, constant: object) -> bool:
    number = int(value) if _INTEGER.fullmatch(value) else 0
    return isinstance(constant, int) and number > 1 and constant == 1 << (number - 1).bit_length()


def constants_text(argument: str, name: str, values: Sequence[str]) -> str:
    """Says that a constexpr was not varied with the argument that it follows."""
    return (
        f"{name} follows {argument} in the recorded launches, but only {', '.join(values)} is "
        f"compiled; add its other values: {name}=..."
    )
