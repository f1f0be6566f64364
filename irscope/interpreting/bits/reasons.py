"""Why two variants compute other bits: what was decided in other ways, and the first line that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irscope.interpreting.bits.expressions import Decision
from irscope.interpreting.bits.marks import Mark, first_differences, verbs_at
from irscope.languages.document import Location

if TYPE_CHECKING:
    from irscope.interpreting.bits.classes import Evaluation

Place = tuple[int, Location | None]


@dataclass(frozen=True)
class Reason:
    """Why two classes differ: at a line of a stage (index from 0) and of the source (0 if unknown).

    `helper_line` is the line of the helper that the line of the kernel calls (None: the kernel's own).
    """

    kind: str
    stage: str
    line: int
    source_line: int
    text: str
    helper_line: Location | None = None


# Kinds of decisions about one operation, which follow from its operands.
_LOCAL = ("fusion", "approximation", "cast")


@dataclass
class _Choice:
    """What A and B decided at a place about a kind, by the words for it, with how often."""

    kind: str
    place: Place
    a: dict[str, tuple[Decision, int]] = field(default_factory=dict)
    b: dict[str, tuple[Decision, int]] = field(default_factory=dict)

    @property
    def line(self) -> int:
        """Return the line of the stage of A, else of B."""
        return next(decision.line for decision, _ in (self.a or self.b).values())


def reasons(a: Evaluation, b: Evaluation) -> Iterator[Reason]:
    """Yield what was decided differently for two variants, the first cause first."""
    if not (a.repeatable and b.repeatable):
        yield from _unordered(a, b)
        return
    ours, theirs = first_differences(a.marks, b.marks)
    places = [mark.place for mark in (*ours, *theirs)]
    choices = _with_moved_products(_choices(a, b))
    if any(choice.place in places for choice in choices):
        # What follows from a cause, as a product that is exact since its factors were cast, is no cause.
        choices = [c for c in choices if c.place in places or c.kind not in _LOCAL or a.fusion != b.fusion]
    first = _first_common(ours, theirs) or next(iter([*ours, *theirs]), None)
    if first is not None and _precedes(first, choices):
        yield _other_computation(first, a, b)
    for choice in choices:
        yield _reason(choice, a, b)


def _precedes(first: Mark, choices: Sequence[_Choice]) -> bool:
    """Return True if nothing was decided at the place of the first difference, or before it."""
    if any(choice.place == first.place for choice in choices):
        return False
    return not choices or (choices[0].kind != "split" and first.line < choices[0].line)


def _unordered(a: Evaluation, b: Evaluation) -> Iterator[Reason]:
    """Yield the atomic operations whose order decides, in A, B or both."""
    names: dict[tuple[int, int, Location | None], list[str]] = {}
    for name, item in (("A", a), ("B", b)):
        for way in item.decisions if not item.repeatable else ():
            if way.kind == "atomics":
                names.setdefault((way.source_line, way.line, way.helper_line), []).append(name)
    merged: dict[Place, tuple[int, list[str]]] = {}
    for (source_line, line, helper), sides in names.items():
        merged.setdefault((source_line, helper), (line, []))[1].extend(sides)
    for (source_line, helper), (line, sides) in merged.items():
        who = " and ".join(dict.fromkeys(sides))
        text = f"{who} add{'s' if len(set(sides)) == 1 else ''} with atomics, whose order is not defined"
        yield Reason("atomics", "ttgir", line, source_line, text, helper)


def _choices(a: Evaluation, b: Evaluation) -> list[_Choice]:
    """Return what was decided in other ways, in the order of the stage, split work first."""
    choices: dict[tuple[str, Place], _Choice] = {}
    for number, item in enumerate((a, b)):
        for decision, count in item.decisions.items():
            place = decision.source_line, decision.helper_line
            choice = choices.setdefault((decision.kind, place), _Choice(decision.kind, place))
            ways = choice.b if number else choice.a
            before = ways[decision.way][1] if decision.way in ways else 0
            ways[decision.way] = decision, before + count
    differing = [
        choice
        for choice in choices.values()
        if choice.a.keys() != choice.b.keys()
        and (choice.kind not in ("loop", "atomics") or (choice.a and choice.b))
    ]
    return sorted(differing, key=lambda choice: (choice.kind != "split", choice.line))


def _with_moved_products(choices: list[_Choice]) -> list[_Choice]:
    """Join a product of A with that of B that the compiler moved to the line of a factor.

    It made several products of one, and casts of the factors, with the factors' lines.
    """
    ours = next((c for c in choices if c.kind == "product" and not c.b), None)
    theirs = next((c for c in choices if c.kind == "product" and not c.a), None)
    if ours is None or theirs is None:
        return choices
    joined = _Choice("product", ours.place, ours.a, theirs.b)
    made = [c for c in choices if c.kind == "cast" and not (c.a and c.b)]
    return [joined, *(c for c in choices if c not in (ours, theirs) and c not in made)]


def _reason(choice: _Choice, a: Evaluation, b: Evaluation) -> Reason:
    left = _listed(choice, choice.a, a, b)
    right = _listed(choice, choice.b, b, a)
    if choice.kind == "product" and choice.a and choice.b:
        once, times = (sum(count for _, count in ways.values()) for ways in (choice.a, choice.b))
        if times % once == 0 and times // once in _SPLITS:
            right = f"adds {times // once} products for one of A: it {right}"
        elif once % times == 0 and once // times in _SPLITS:
            left = f"adds {once // times} products for one of B: it {left}"
    source_line, helper = choice.place
    return Reason(choice.kind, "ttgir", choice.line, source_line, f"A {left}; B {right}", helper)


# How many products of tf32 or bf16 make one of f32: tf32x3, bf16x3 and bf16x6.
_SPLITS = (3, 6)


def _listed(choice: _Choice, ways: Mapping[str, object], item: Evaluation, other: Evaluation) -> str:
    if ways:
        return " and ".join(ways)
    verbs = verbs_at(item.marks, choice.place, other.marks) if choice.kind == "approximation" else []
    return _counted(verbs) or "does not"


def _counted(verbs: Iterable[str]) -> str:
    counts = Counter(verbs)
    return " and ".join(verb if n == 1 else f"{verb} {n} times" for verb, n in counts.items())


def _other_computation(mark: Mark, a: Evaluation, b: Evaluation) -> Reason:
    """Say what A and B compute at a place from the same operands, if nothing was decided there."""
    verbs_a, verbs_b = verbs_at(a.marks, mark.place, b.marks), verbs_at(b.marks, mark.place, a.marks)
    if mark.random:
        kind, text = "random", "A and B draw other random numbers: the offsets or the seeds differ"
    elif Counter(verbs_a) == Counter(verbs_b) and (len(verbs_a) > 1 or mark.verb in _ORDERED):
        kind, text = "order", f"B {_counted(verbs_b)} in another order than A"
    elif Counter(verbs_a) == Counter(verbs_b):
        kind, text = "operation", f"B {_counted(verbs_b)} other numbers than A"
    else:
        kind = "operation"
        text = f"A {_counted(verbs_a) or 'computes nothing'}; B {_counted(verbs_b) or 'computes nothing'}"
    return Reason(kind, "ttgir", mark.line, mark.source_line, text, mark.helper_line)


# What depends on an order, even if it is one operation in a loop.
_ORDERED = ("adds", "subtracts", "multiplies matrices")


def _first_common(ours: Sequence[Mark], theirs: Sequence[Mark]) -> Mark | None:
    """Return the first mark of A at whose place B differs, too."""
    places = {mark.place for mark in theirs}
    return next((mark for mark in ours if mark.place in places), None)
