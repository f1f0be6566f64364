"""What launches of variants on a GPU computed, and whether that agrees with the predicted classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.model.records import grouped
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from irscope.interpreting.bits.classes import BitClass
    from irscope.workspace.bits import ProblemBits

# Kinds of `Agreement`.
CONTRADICTION, PROVED, ALIKE, UNREPEATED, NOTHING = (
    "contradiction", "proved", "alike", "not repeatable", "nothing",
)  # fmt: skip


@dataclass(frozen=True)
class LaunchedBits:
    """What the variants of a problem computed on a GPU, each launched several times from the same values.

    `hashes` maps the ids of variants to what each launch wrote: a hash of each tensor that it changed.
    `failed` maps the ids of all others to the reason. `inputs` says which values they are: "random" or
    "recorded".
    """

    device: str
    inputs: str
    hashes: Mapping[int, Sequence[Mapping[str, str]]]
    failed: Mapping[int, str]


@dataclass(frozen=True)
class Agreement:
    """A sentence about what was predicted and what launches computed, and its kind."""

    kind: str
    text: str


def agreement(answer: ProblemBits) -> list[Agreement]:
    """Return how the launches agree with the classes, contradictions first; empty if nothing was launched."""
    launched = answer.launched
    if launched is None or not launched.hashes:
        return []
    if not any(any(results) for results in launched.hashes.values()):
        return [Agreement(NOTHING, "the launches changed no tensor, so they prove nothing")]
    points = list(_agreement(answer.classes, launched))
    return sorted(points, key=lambda point: point.kind != CONTRADICTION)


def _agreement(classes: Sequence[BitClass], launched: LaunchedBits) -> Iterator[Agreement]:
    proved: dict[str, int] = {}
    bits: dict[str, str] = {}
    for item in classes:
        members = [number for number in item.variants if number in launched.hashes]
        results = [(number, result) for number in members for result in launched.hashes[number]]
        differing = [(number, result) for number, result in results if result != results[0][1]]
        if differing and item.repeatable:
            yield _contradiction(*results[0], *differing[0])
        elif differing:
            yield Agreement(UNREPEATED, f"{item.name} is not repeatable: its launches differ")
        elif members and item.repeatable:
            proved[item.name], bits[item.name] = len(members), str(sorted(results[0][1].items()))
    if proved:
        counts = ", ".join(f"{name} ({pluralize(count, 'variant')})" for name, count in proved.items())
        yield Agreement(PROVED, f"same bits: proved on {launched.device} for {counts}")
    for names in grouped(bits, bits.__getitem__).values():
        if len(names) > 1:
            yield Agreement(ALIKE, f"{', '.join(names)} compute the same bits from these values")


def _contradiction(a: int, first: Mapping[str, str], b: int, second: Mapping[str, str]) -> Agreement:
    names = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    variants = f"two launches of #{a}" if a == b else f"#{a} and #{b}"
    text = f"{variants} should compute the same bits, but differ in {', '.join(names)}"
    return Agreement(CONTRADICTION, text)
