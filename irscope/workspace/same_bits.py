"""Which variants compute the same bits as a given one, and what it costs to pick only among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from irscope.model import Variant
from irscope.model.text import one_line, pluralize
from irscope.workspace.bits import ProblemBits, bits_at
from irscope.workspace.picking import Choice, Pick
from irscope.workspace.problem_sizes import Problem
from irscope.workspace.workspace import Workspace

# Kinds of `Choice.reason`.
OTHER_BITS, UNKNOWN_BITS = "other bits", "unknown bits"


@dataclass(frozen=True)
class SameBits:
    """What it costs at a launch to pick only among the configs that compute the bits of one.

    `reference` is the id of that one. `variants` are the ids of the configs that compute the same bits, the
    reference included. It is empty if `trouble` says why nobody knows that of any. `unknown` maps the ids of
    configs whose bits are unknown to the reason; they are not picked. `fastest` is the config with the
    shortest estimate, whatever its bits, `fastest_same` that of `variants`; None if none has an estimate.
    """

    reference: int
    variants: tuple[int, ...]
    unknown: Mapping[int, str]
    fastest: Choice | None
    fastest_same: Choice | None
    trouble: str

    @property
    def cost(self) -> float | None:
        """Return how much longer `fastest_same` takes than `fastest` by estimate: 0.1 is 10 %."""
        every, same = self.fastest, self.fastest_same
        if every is None or same is None or every.estimate is None or same.estimate is None:
            return None
        return max(0.0, same.estimate.microseconds / every.estimate.microseconds - 1)

    @property
    def text(self) -> str:
        """Return all of it in one line."""
        unknown = f"; {len(self.unknown)} unknown, not picked" if self.unknown else ""
        if self.trouble:
            return one_line(f"{self.trouble}; nothing is picked")
        head = f"same bits as #{self.reference}: {pluralize(len(self.variants), 'config')}"
        if self.cost is None or self.fastest is None or self.fastest_same is None:
            return f"{head}; what that costs is not known without estimates{unknown}"
        same, every = _time_text(self.fastest_same), _time_text(self.fastest)
        if not self.cost:
            return f"{head}; costs nothing by estimate: none is faster than {same}{unknown}"
        return f"{head}; costs {self.cost:.1%} by estimate: {same}, the fastest of all {every}{unknown}"


def _time_text(choice: Choice) -> str:
    time = choice.estimate.text if choice.estimate else "?"
    return f"#{choice.variant.id} {time} us"


def with_same_bits(
    workspace: Workspace,
    pick: Pick,
    reference: Variant,
    rank: Callable[[Problem], tuple[tuple[Choice, ...], str]],
) -> Pick:
    """Rank only the configs that compute the bits of `reference`, and reject the others.

    They are ranked again: one may have been rejected for a better config that computes other bits.
    `rank` ranks the configs of a problem, and says why it has no estimate.
    """
    answer = bits_at(workspace, pick.problem, reference)
    trouble = answer.unrepeatable(reference.id)
    same = () if trouble else answer.classes[0].variants
    members = tuple(variant for variant in pick.problem.variants if variant.id in same)
    problem = replace(pick.problem, variants=members, unlaunched=())
    choices = rank(problem)[0] if members else ()
    classified = {number for item in answer.classes for number in item.variants}
    others = [choice for choice in pick.choices if choice.variant.id not in same]
    unknown = {
        choice.variant.id: answer.unknown.get(choice.variant.id, "it has other argument types")
        for choice in others
        if choice.variant.id not in classified
    }
    rejected = tuple(_other_bits(choice, reference, unknown, trouble) for choice in others)
    same_bits = SameBits(reference.id, same, unknown, _fastest(pick.choices), _fastest(choices), trouble)
    return replace(pick, choices=(*choices, *rejected), same_bits=same_bits)


def _other_bits(choice: Choice, reference: Variant, unknown: Mapping[int, str], trouble: str) -> Choice:
    """Reject a config that does not compute the bits of `reference`, as far as is known."""
    why = unknown.get(choice.variant.id) or trouble
    if why:
        return replace(choice, rejected=f"{UNKNOWN_BITS}: {why}", reason=UNKNOWN_BITS)
    return replace(choice, rejected=f"{OTHER_BITS} than #{reference.id}", reason=OTHER_BITS)


def _fastest(choices: Iterable[Choice]) -> Choice | None:
    """Return the accepted config with the shortest estimate; None if none has one."""
    times = {
        choice.estimate.microseconds: choice
        for choice in reversed(list(choices))
        if choice.rejected is None and choice.estimate
    }
    return times[min(times)] if times else None


@dataclass(frozen=True)
class BitsAnswer:
    """Whether a variant computes the bits of a reference (None: unknown), and in one line why not."""

    same: bool | None
    reason: str = ""


def bits_answers(
    workspace: Workspace, reference: Variant, variants: Iterable[Variant], launch: str | None
) -> dict[int, BitsAnswer]:
    """Say whether variants compute the bits of `reference` at each launch that both have, by id.

    Variants that share no launch with it have no answer. `launch` is one to answer for instead, as text.
    Raises UserError as `Workspace.bits`.
    """
    members = list({variant.id: variant for variant in (reference, *variants)}.values())
    answers: dict[int, BitsAnswer] = {}
    for bits in workspace.bits(launch=launch or (), variants=members, reference=reference):
        problem = bits.problem
        launched = [variant.id for variant in (*problem.variants, *problem.unlaunched)]
        for number in launched if reference.id in launched else ():
            answer = bits_answer(bits, reference.id, number, f"#{reference.id}", f"#{number}")
            if problem.text:
                answer = replace(answer, reason=f"at {problem.text}, {answer.reason}")
            before = answers.get(number)
            # A launch at which the bits differ says more than one at which they are unknown.
            if before is None or before.same or (before.same is None and answer.same is False):
                answers[number] = answer
    return answers


def bits_answer(bits: ProblemBits, reference: int, number: int, a: str, b: str) -> BitsAnswer:
    """Say whether a variant computes the bits of `reference` at one launch; they are called `b` and `a`."""
    if reason := bits.unknown.get(number):
        return BitsAnswer(None, one_line(reason))
    if trouble := bits.unrepeatable(reference, a):
        return BitsAnswer(None if reference in bits.unknown else False, one_line(trouble))
    name = next(item.name for item in bits.classes if number in item.variants)
    if name == bits.reference_class:
        return BitsAnswer(True)
    difference = next(item for item in bits.from_first if item.b == name)
    return BitsAnswer(False, one_line(f"A = {a}, B = {b}: {'; '.join(bits.reason_texts(difference))}"))
