"""Whether two variants compute the same bits from the same inputs, and the findings about why not.

    Results of line 29 (var += v * v): A fuses a * b + c; B does not

Both are executed, as `irscope bits` does. They may be variants of two captures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from irscope.facts.source.alignment import line_map
from irscope.facts.source.map import SourcePlace, kernel_place
from irscope.findings.finding import Finding, Severity, evidence_pair
from irscope.interpreting.bits.classes import Evaluation, classify
from irscope.interpreting.bits.reasons import Reason
from irscope.model import Launch, Variant
from irscope.model.text import one_line
from irscope.workspace.bits import Report, reason_place
from irscope.workspace.launch_expression import launched
from irscope.workspace.problem_sizes import launch_text, problem_text

if TYPE_CHECKING:
    from irscope.workspace.capture_comparison import MatchedVariants
    from irscope.workspace.workspace import Workspace

# Those of A and of B.
_Workspaces = tuple["Workspace", "Workspace"]
_Variants = tuple[Variant, Variant]

# A launch takes up to a second; those of a variant mostly agree.
_MOST_LAUNCHES = 3
# More reasons are listed with all findings only.
_MOST_SHOWN = 3
# Before all findings about instructions, but after an edit of what is computed, which may be the cause.
_WEIGHT = Severity.MATRIX_PATH.weight(effect=100)
_NO_LAUNCH = "no launch is known; irscope run records them, or add --launch"
# Findings that a reason explains, by its kind.
_COVERS = {"fusion": frozenset(["math fma"])}


@dataclass(frozen=True)
class PairBits:
    """Whether A and B compute the same bits from the same inputs, at the launches that both have.

    `arguments` are those of the first launch at which they differ, `M=4096, N=4096`, or of the first one.
    `differs` is True if B computes something else than A there, None if that is unknown. `unknown` says why
    it is, `lost` that what A computes is known. `repeatable` says whether two launches of A, and two of B,
    compute the same bits. `reasons` say what A and B do differently, `findings` are the same as findings.
    """

    arguments: str
    differs: bool | None
    unknown: str
    lost: bool
    repeatable: tuple[bool, bool] = (True, True)
    reasons: tuple[Reason, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def same(self) -> bool | None:
        """Return True if A and B compute the same bits, None if that is unknown."""
        return None if self.differs is None else not self.differs and all(self.repeatable)

    @property
    def text(self) -> str:
        """Say in one sentence whether A and B compute the same bits."""
        where = f" for {self.arguments}" if self.arguments else ""
        if self.differs is None:
            return one_line(f"Whether A and B compute the same bits{where} is unknown: {self.unknown}")
        if not self.differs and not all(self.repeatable):
            return f"A and B add alike{where}, but neither repeats its bits: the order of atomics decides"
        return f"A and B compute {'the same' if self.same else 'different'} bits{where}"


def pair_bits(workspaces: _Workspaces, a: Variant, b: Variant) -> PairBits | None:
    """Compare what two variants compute at each launch that both have, until they differ.

    `workspaces` are those of A and of B. Returns None if they were not launched with the same inputs.
    """
    answers = []
    for launches in _shared_launches(a, b)[:_MOST_LAUNCHES]:
        answer = _at_launch(workspaces, (a, b), launches)
        if answer.differs:
            return answer
        answers.append(answer)
    return next((answer for answer in answers if answer.differs is None), next(iter(answers), None))


def bits_by_pair(
    workspaces: _Workspaces, pairs: Iterable[MatchedVariants], launches: Sequence[str], report: Report
) -> dict[tuple[int, int], PairBits]:
    """Compare each pair of OLD and NEW whose machine code differs, by the ids of both.

    `launches` are how they are launched instead of as recorded. `report` receives the number of pairs done
    and in total. Raises UserError if a launch fits no OLD or no NEW variant, or has a name that neither uses.
    """
    answers = {}
    sides: list[Sequence[Variant]] = list(
        zip(*((pair.a, pair.b) for pair in pairs if not pair.identical), strict=True)
    )
    if launches:
        sides = [launched(side, launches, other)[0] for side, other in zip(sides, sides[::-1], strict=True)]
    for done, (a, b) in enumerate(zip(*sides, strict=True), 1):
        unknown = "NEW was not launched as OLD was" if a.launches else _NO_LAUNCH
        unlaunched = PairBits("", None, unknown, lost=bool(a.launches))
        answers[a.id, b.id] = pair_bits(workspaces, a, b) or unlaunched
        report(done, len(sides[0]))
    return answers


def _shared_launches(a: Variant, b: Variant) -> list[tuple[Launch, Launch]]:
    """Return the launches of A and B that have the same inputs."""
    of_b = {problem_text(b, launch, constants=False): launch for launch in reversed(b.launches)}
    pairs = ((launch, of_b.get(problem_text(a, launch, constants=False))) for launch in a.launches)
    return [(of_a, launch) for of_a, launch in pairs if launch is not None]


def _at_launch(workspaces: _Workspaces, variants: _Variants, launches: tuple[Launch, Launch]) -> PairBits:
    arguments = launch_text(variants[0], launches[0], constants=False)
    if trouble := _incomparable(*variants):
        return PairBits(arguments, None, trouble, lost=True)
    sides = zip(workspaces, variants, launches, strict=True)
    a, b = (
        workspace.evaluations.of(variant, launch, variants[1].kernel) for workspace, variant, launch in sides
    )
    repeatable = a.repeatable, b.repeatable
    if not any(repeatable):
        # What they add in an order that nothing defines may still be the same.
        a, b = replace(a, repeatable=True), replace(b, repeatable=True)
    answer = classify(dict(enumerate((a, b))))
    if answer.unknown:
        (side, unknown), *_ = answer.unknown.items()
        prefix = f"{'AB'[side]}: " if a.unanswered != b.unanswered else ""
        return PairBits(arguments, None, f"{prefix}{unknown}", lost=not a.unanswered)
    reasons = tuple(reason for difference in answer.differences for reason in difference.reasons)
    differs = len(answer.classes) > 1
    findings = tuple(_findings(workspaces, variants, (a, b), reasons)) if differs else ()
    return PairBits(arguments, differs, "", False, repeatable, reasons, findings)


def _incomparable(a: Variant, b: Variant) -> str:
    """Say why what two variants compute cannot be compared; "" if it can be."""
    if a.target != b.target:
        return "they are for different targets"
    if a.edit is not None or b.edit is not None:
        return "a stage of it was edited"
    names_a, names_b = map(_run_time_names, (a, b))
    if names_a != names_b:
        names = ", ".join(sorted(set(names_a) ^ set(names_b))) or "their order"
        return f"their arguments at run time differ: {names}"
    return ""


def _run_time_names(variant: Variant) -> list[str]:
    return [argument.name for argument in variant.specialization if argument.type != "constexpr"]


def _findings(
    workspaces: _Workspaces,
    variants: _Variants,
    evaluations: tuple[Evaluation, Evaluation],
    reasons: Sequence[Reason],
) -> Iterator[Finding]:
    """Yield a finding for each reason; the first ones are not covered by others."""
    if not reasons:
        text = "A and B compute different bits; irscope does not know which line decides"
        yield Finding("Results", _WEIGHT, "bits", changes=(text,))
    for number, reason in enumerate(reasons):
        lines = [_lines(evaluation, reason) for evaluation in evaluations]
        yield Finding(
            f"Results {_place(workspaces, variants, lines, reason)}",
            _WEIGHT - number / 1024,  # in the order of the reasons
            "bits",
            *evidence_pair(reason.stage, *lines),
            subject=f"{reason.kind} line {reason.source_line} {reason.helper or ''}".rstrip(),
            covers=_COVERS.get(reason.kind, frozenset()),
            covered=number >= _MOST_SHOWN,
            changes=(reason.text,),
        )


def _place(workspaces: _Workspaces, variants: _Variants, lines: Sequence[list[int]], reason: Reason) -> str:
    """Return the line of B that a reason is about, `of line 29 (var += v * v)`; A's if B does not have it."""
    a, b = variants
    place: SourcePlace | None = SourcePlace(b.kernel.source.file, reason.source_line)
    if lines[0] and not lines[1]:
        # The number alone does not say whose it is.
        document = line_map(a.kernel, b.kernel).in_lines_of_b(workspaces[0].document(a, reason.stage))
        place = kernel_place(document.location_at(lines[0][0]))
    if place is None or not place.line:
        return f"of {reason.stage} line {reason.line + 1}"
    return reason_place(reason, place, a.kernel if place.removed else b.kernel)


def _lines(evaluation: Evaluation, reason: Reason) -> list[int]:
    """Return the lines of the stage at which a variant decided what a reason is about."""
    return [
        decision.line
        for decision in evaluation.decisions
        if (decision.kind, decision.place) == (reason.kind, (reason.source_line, reason.helper))
    ]
