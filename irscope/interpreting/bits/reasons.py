"""Why two variants compute other bits: what was decided in other ways, or the first line that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irscope.interpreting.bits.elementwise import RANDOM
from irscope.interpreting.bits.marks import Mark, differing, verbs_at
from irscope.interpreting.stage_program import Place

if TYPE_CHECKING:
    from irscope.interpreting.bits.classes import Evaluation

# Kinds of decisions about one operation, which follow from its operands.
_LOCAL = ("fusion", "approximation", "cast")
# Kinds of decisions that are causes only if there is no other.
_MINOR = ("part", "number")
# How many products of tf32 or bf16 make one of f32: tf32x3, bf16x3 and bf16x6.
_PARTS = (3, 6)
# What depends on an order, even if it is one operation in a loop.
_ORDERED = ("adds", "subtracts", "multiplies matrices")


@dataclass(frozen=True)
class Reason:
    """Why two classes differ: at a line of a stage (index from 0) and of the source (0 if unknown).

    `helper` are the file and the line of the helper that the line of the kernel calls (None: its own).
    """

    kind: str
    stage: str
    line: int
    source_line: int
    text: str
    helper: tuple[str, int] | None


@dataclass
class _DecisionPair:
    """What A and B decided at a place about a kind: the words for it, with how often."""

    kind: str
    place: Place
    line: int
    a: Counter[str] = field(default_factory=Counter)
    b: Counter[str] = field(default_factory=Counter)


def reasons(a: Evaluation, b: Evaluation) -> Iterator[Reason]:
    """Yield what was decided differently for two variants, the first cause first."""
    if not (a.repeatable and b.repeatable):
        yield from _unordered(a, b)
        return
    ours, theirs = differing(a.marks, b.marks), differing(b.marks, a.marks)
    places = [mark.place for mark in theirs]
    first = next((mark for mark in ours if mark.place in places), next(iter(ours + theirs), None))
    places += [mark.place for mark in ours]
    choices = _with_moved_products(_choices(a, b))
    if any(choice.place in places for choice in choices):
        # What follows from a cause, as a product that is exact since its factors were cast, is no cause.
        choices = [c for c in choices if c.place in places or c.kind not in _LOCAL or a.fusion != b.fusion]
    minor = [choice for choice in choices if choice.kind in _MINOR]
    choices = [choice for choice in choices if choice.kind not in _MINOR]
    if first is not None and all(_follows(choice, first) for choice in choices):
        yield _other_computation(first, a, b)
    for choice in choices or (() if first else minor):
        yield _reason(choice, a, b)


def _follows(choice: _DecisionPair, first: Mark) -> bool:
    """Return True if a choice was made after the first difference, at another place."""
    return choice.kind != "split" and choice.place != first.place and choice.line > first.line


def _unordered(a: Evaluation, b: Evaluation) -> Iterator[Reason]:
    """Yield the atomic operations whose order decides, in A, B or both."""
    lines: dict[Place, dict[str, int]] = {}
    for name, item in (("A", a), ("B", b)):
        for decision in () if item.repeatable else item.decisions:
            if decision.kind == "atomics":
                lines.setdefault(decision.place, {}).setdefault(name, decision.line)
    for (source_line, helper), sides in lines.items():
        who = "A and B add" if len(sides) > 1 else f"{next(iter(sides))} adds"
        text = f"{who} with atomics, whose order is not defined"
        yield Reason("atomics", "ttgir", min(sides.values()), source_line, text, helper)


def _choices(a: Evaluation, b: Evaluation) -> list[_DecisionPair]:
    """Return what was decided in other ways, in the order of the stage, split work first."""
    choices: dict[tuple[str, Place], _DecisionPair] = {}
    for side, item in (("a", a), ("b", b)):
        for decision, count in item.decisions.items():
            new = _DecisionPair(decision.kind, decision.place, decision.line)
            choice = choices.setdefault((decision.kind, decision.place), new)
            getattr(choice, side)[decision.way] += count
    return sorted(
        (
            choice
            for choice in choices.values()
            if choice.a.keys() != choice.b.keys() and (choice.kind != "loop" or (choice.a and choice.b))
        ),
        key=lambda choice: (choice.kind != "split", choice.line),
    )


def _with_moved_products(choices: list[_DecisionPair]) -> list[_DecisionPair]:
    """Join a product of A with that of B that the compiler moved to the line of a factor.

    It made several products of one, and casts of the factors, with the factors' lines.
    """
    one_sided = [c for c in choices if c.kind in ("product", "cast") and not (c.a and c.b)]
    products = [choice for choice in one_sided if choice.kind == "product"]
    ours = next((choice for choice in products if choice.a), None)
    theirs = next((choice for choice in products if choice.b), None)
    if ours is None or theirs is None:
        return choices
    ours.b = theirs.b
    return [choice for choice in choices if choice is ours or choice not in one_sided]


def _reason(choice: _DecisionPair, a: Evaluation, b: Evaluation) -> Reason:
    left = _listed(choice, choice.a, choice.b) or _done(choice, a, b)
    right = _listed(choice, choice.b, choice.a) or _done(choice, b, a)
    source_line, helper = choice.place
    return Reason(choice.kind, "ttgir", choice.line, source_line, f"A {left}; B {right}", helper)


def _listed(choice: _DecisionPair, ways: Counter[str], others: Counter[str]) -> str:
    text = " and ".join(ways)
    times = ways.total() / others.total() if others else 0
    return (
        f"adds {times:.0f} products for one: it {text}"
        if choice.kind == "product" and times in _PARTS
        else text
    )


def _done(choice: _DecisionPair, item: Evaluation, other: Evaluation) -> str:
    """Return what a variant does where only the other one had a choice."""
    verbs = verbs_at(choice.place, item.marks, other.marks) if choice.kind == "approximation" else []
    return _counted(verbs) or "does not"


def _counted(verbs: list[str]) -> str:
    counts: Mapping[str, int] = Counter(verbs)
    return " and ".join(verb if n == 1 else f"{verb} {n} times" for verb, n in counts.items())


def _other_computation(mark: Mark, a: Evaluation, b: Evaluation) -> Reason:
    """Say what A and B compute at a place from the same operands, if nothing was decided there."""
    left, right = verbs_at(mark.place, a.marks, b.marks), verbs_at(mark.place, b.marks, a.marks)
    kind, text = "operation", f"A {_counted(left) or 'does nothing'}; B {_counted(right) or 'does nothing'}"
    if mark.verb == RANDOM:
        kind, text = "random", "A and B draw other random numbers: the offsets or the seeds differ"
    elif sorted(left) == sorted(right) and (len(left) > 1 or mark.verb in _ORDERED):
        kind, text = "order", f"B {_counted(right)} in another order than A"
    elif left == right:
        text = f"B {_counted(right)} other numbers than A"
    return Reason(kind, "ttgir", mark.line, mark.place[0], text, mark.place[1])
