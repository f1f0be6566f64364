"""Which configs compute other bits under another Triton, and with fusion off, the default of Triton 3.10.

softmax_kernel, Triton 3.7.1 -> 3.8.0
line 28: A adds 8 values per thread; B adds 8 values per thread in pairs
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irscope.model import UserError, Variant
from irscope.workspace.bits import NOT_LAUNCHED, classified
from irscope.workspace.launch_expression import parse_launch
from irscope.workspace.problem_sizes import requested_problem
from irscope.workspace.timeline import VersionSummary
from irscope.workspace.workspace import Workspace


@dataclass(frozen=True)
class BuildBits:
    """Whether two variants, given by their ids, compute the same bits; they are one with and without fusion.

    `answer` is "same", "differ" or "unknown"; `texts` are the lines that decide, or why nobody knows.
    """

    a: int
    b: int
    answer: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class VersionBits:
    """The bits of the configs under a version, compared with those under the version before, or unfused.

    `change` is `Triton 3.7.1 -> 3.8.0`, or `Triton 3.9.0 with fusion off`.
    """

    change: str
    pairs: tuple[BuildBits, ...]

    @property
    def counts(self) -> str:
        """Return `bits differ in 4 of 10`, without those whose bits are unknown."""
        answers = [pair.answer for pair in self.pairs]
        differing, unknown = answers.count("differ"), answers.count("unknown")
        text = f"bits differ in {differing} of {len(answers)}"
        return f"{text}, unknown in {unknown}" if unknown else text


def version_bits(
    workspace: Workspace, summary: VersionSummary, launches: Sequence[str]
) -> Iterator[VersionBits]:
    """Yield what each step to the next Triton changes, and what the newest one would change without fusion.

    `launches` are those that a user wrote; without any, the recorded ones count.
    """
    for step in summary.steps:
        if step.old.triton != step.new.triton:
            pairs = (_compared(workspace, pair.a, pair.b, launches) for pair in step.pairs)
            yield VersionBits(step.heading, tuple(pairs))
    newest, variants = list(summary.versions.items())[-1]
    fusing = [variant for variant in variants if variant.metadata.get("enable_fp_fusion", True)]
    if fusing:
        pairs = (_compared(workspace, variant, variant, launches) for variant in fusing)
        yield VersionBits(f"{newest} with fusion off", tuple(pairs))


def _compared(workspace: Workspace, a: Variant, b: Variant, texts: Sequence[str]) -> BuildBits:
    """Compare two variants, or one with itself without fusion, at every launch."""
    deciding: dict[str, None] = {}
    try:
        launches = [parse_launch(text).checked([a, b]).launch_of(b) for text in texts] or b.launches
        if not launches:
            raise UserError(NOT_LAUNCHED)
        for launch in launches:
            problem = requested_problem({b.id: launch}, [b])
            first = workspace.evaluations.of(a, launch, b.kernel)
            second = workspace.evaluations.of(b, launch, fusion=False if a is b else None)
            bits = classified(problem, {a.id: first, -b.id: second}, None)
            if bits.unknown:
                raise UserError(next(iter(bits.unknown.values())))
            if not (first.repeatable and second.repeatable):
                raise UserError("the order of atomics decides, which no two launches have in common")
            for difference in bits.differences:
                deciding.update(dict.fromkeys(bits.reason_texts(difference)))
        if not deciding and a is not b:
            math = [finding.text for finding in workspace.compare(a, b).findings if finding.kind == "math"]
            if math:
                raise UserError(f"the machine code computes otherwise: {'; '.join(math)}")
    except UserError as error:
        return BuildBits(a.id, b.id, "unknown", (str(error),))
    return BuildBits(a.id, b.id, "differ" if deciding else "same", tuple(deciding))
