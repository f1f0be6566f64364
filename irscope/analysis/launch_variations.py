"""Launches of a kernel that a capture has, and those that `--vary` adds: the arguments of each.

    recorded   a=float16[512, 64] M=512 stride=512
    --vary "matmul:M=1..4096"
               M=1 stride=1, M=2 stride=2, M=16 stride=16: one for each way in which Triton can specialize

Strides and sizes that follow from an argument move with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from irscope.analysis.compilations import is_autotuned
from irscope.analysis.launch_correlations import Follower, LaunchCase, followers
from irscope.analysis.vary import ALIGNED, SAME, UNALIGNED, Axis
from irscope.model import Argument, UserError, Variant, parse_argument
from irscope.model.frozen_value import FrozenValue

_INTEGER = re.compile(r"-?\d{1,20}")
_DESCRIPTOR = re.compile(r"tensordesc(?:_im2col)?<(\w+)\[([\d, ]+)\]")
_INT32, _INT64 = 1 << 31, 1 << 63
# Launches of one kernel that are compiled for at most: a product of ranges is easily larger.
MOST_LAUNCHES = 20_000


def recorded_cases(variants: Sequence[Variant]) -> tuple[LaunchCase, ...]:
    """The different launches of variants of one kernel, without what its autotuner sets.

    If none was launched, launches for which they would be compiled.
    """
    launched = (case for variant in variants for case in _cases(variant))
    return tuple(dict.fromkeys(launched)) or tuple(dict.fromkeys(map(_invented_case, variants)))


def _cases(variant: Variant) -> Iterator[LaunchCase]:
    settings = dict(variant.config.values)
    for launch in variant.launches:
        given = {name: text for name, text in launch.arguments if name not in settings}
        yield _case(variant, given)


def _invented_case(variant: Variant) -> LaunchCase:
    settings = dict(variant.config.values)
    given = {
        each.name: _invented(each)
        for each in variant.specialization
        if each.type != "constexpr" and each.name not in settings
    }
    return _case(variant, given)


def _case(variant: Variant, given: Mapping[str, str]) -> LaunchCase:
    known = {each.name: each for each in variant.specialization}
    constants = {
        name: each.value
        for name, each in known.items()
        if each.type == "constexpr" and name in variant.kernel.parameters and name not in given
    }
    constants |= {} if is_autotuned(variant.kernel) else dict(variant.config.values)
    unaligned = frozenset(
        name for name, each in known.items() if each.type.startswith("*") and "D" not in (each.key or "")
    )
    return LaunchCase(tuple(given.items()), tuple(constants.items()), unaligned)


def _invented(argument: Argument) -> str:
    """A value for which the JIT specializes as for `argument`, of which only the specialization is known."""
    divisible = "D" in (argument.key or "")
    if argument.type.startswith("*"):
        return argument.type
    if match := _DESCRIPTOR.match(argument.type):
        rank = match[2].count(",") + 1
        sizes = ", ".join(["4096"] * rank)
        return f"tensordesc {match[1]}[{sizes}] in blocks of [{match[2]}]"
    if argument.type in ("i1", "u1"):
        return "True"
    if argument.type in ("i64", "u64"):
        base = _INT32 if argument.type == "i64" else _INT64
        return str(base if divisible else base + 1)
    if argument.type[0] in "iu":
        return "4096" if divisible else "4097"
    return "0.5"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Move(FrozenValue):
    """An axis with the arguments that move with it."""

    axis: Axis
    followers: tuple[Follower, ...]


def moves(axes: Sequence[Axis], cases: Sequence[LaunchCase]) -> tuple[Move, ...]:
    """Each axis that changes something, with what moves with it: no argument that has an axis of its own."""
    fixed = frozenset(axis.name for axis in axes)
    return tuple(
        Move(axis, followers(axis.name, cases, fixed - {axis.name})) for axis in axes if not axis.keeps
    )


def varied(
    cases: Sequence[LaunchCase], moved: Sequence[Move], outcome: Callable[[LaunchCase], Hashable] | None
) -> tuple[LaunchCase, ...]:
    """`cases`, then each with the product of the axes' values, of which the recorded one is one more.

    Of several values that Triton cannot specialize differently, only one is kept: of integers, the first of
    those with the same width that are (or are not) divisible by 16 in the argument and in all that moves with
    it. If the kernel also depends on values in another way, `outcome` says how, and only values with one
    outcome, the other arguments as recorded, are the same. Raises UserError if there are too many launches,
    or a value does not fit.
    """
    found = dict.fromkeys(cases)
    if not (moved and cases):
        return tuple(found)
    axes = [(None, *_values(move, cases, outcome)) for move in moved]
    total = len(cases) * math.prod(map(len, axes))
    if total > MOST_LAUNCHES:
        sizes = (f"{len(values) - 1:,} of {m.axis.name}" for m, values in zip(moved, axes, strict=True))
        raise UserError(
            f"vary {moved[0].axis.kernel}: {len(cases):,} recorded launches x {' x '.join(sizes)} are "
            f"{total:,}, more than {MOST_LAUNCHES:,}; give fewer values"
        )
    for case in cases:
        for texts in product(*axes):
            changed = case
            for move, text in zip(moved, texts, strict=True):
                changed = changed if text is None else _moved(changed, move, text)
            found.setdefault(changed)
    return tuple(found)


def _values(
    move: Move, cases: Sequence[LaunchCase], outcome: Callable[[LaunchCase], Hashable] | None
) -> Iterator[str]:
    seen: set[Hashable] = set()
    ratios = (1, *sorted({each.ratio for each in move.followers}))
    asked = cases[: max(1, MOST_LAUNCHES // move.axis.size)]
    for text in move.axis.texts():
        number = int(text) if _INTEGER.fullmatch(text) else None
        if number is None:
            yield text
            continue
        kind: Hashable = tuple(_kind(number * ratio) for ratio in ratios)
        if outcome is not None:
            kind = kind, tuple(outcome(_moved(case, move, text)) for case in asked)
        if kind not in seen:
            seen.add(kind)
            yield text


def _kind(number: int) -> tuple[bool, bool, int]:
    """All that a specialization can depend on: equal to 1, divisible by 16, and the width."""
    width = 32 if -_INT32 <= number < _INT32 else 64 if -_INT64 <= number < _INT64 else 65
    return number == 1, number % 16 == 0, width


def _moved(case: LaunchCase, move: Move, text: str) -> LaunchCase:
    """`case` with the value `text` of the axis. Raises UserError if the argument cannot have it."""
    name, given, constants = move.axis.name, dict(case.arguments), dict(case.constants)
    choices = (*case.choices, (name, text))
    if name not in given:
        # Constexprs and options, also those that the program does not set.
        return replace(
            case, constants=tuple((constants | {name: parse_argument(text)}).items()), choices=choices
        )
    if text in (ALIGNED, UNALIGNED):
        unaligned = case.unaligned - {name} if text == ALIGNED else case.unaligned | {name}
        return replace(case, unaligned=unaligned, choices=choices)
    if text.startswith("*"):
        text, _, hint = text.partition(":")
        unaligned = case.unaligned - {name} if hint == "16" else case.unaligned | {name}
        given[name] = text
        return replace(case, arguments=tuple(given.items()), unaligned=unaligned, choices=choices)
    given[name] = text
    if _INTEGER.fullmatch(text):
        for follower in move.followers:
            given[follower.name] = str(int(text) * follower.ratio)
    elif text not in ("None", "True", "False") and not _is_float(text):
        raise UserError(f"vary {move.axis.kernel}: {name}={text} is neither a number, a range nor a pointer")
    return replace(case, arguments=tuple(given.items()), choices=choices)


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def move_text(move: Move) -> str:
    """An axis and what moves with it: "M=1..64 (and with it stride_am, stride_cm = 2 M)"."""
    text = f"{move.axis.name}={move.axis.text}"
    if not move.followers:
        return text
    parts = [
        each.name if each.ratio == 1 else f"{each.name} = {each.ratio} {move.axis.name}"
        for each in move.followers
    ]
    once = [each.name for each in move.followers if each.values == 1]
    known = f"; so in the only value recorded: {once[0]}={SAME} keeps it" if once else ""
    return f"{text} (and with it {', '.join(parts)}{known})"
