"""Finds the layer of the compiler that makes a variant worse on one side than on the other.

Each stage that one side made is built to the end by the other side, in both directions. A stage whose own
side, given its text, does not reproduce its own value says nothing, and is left out.

Locates a change of a value in a chain of steps, from the measurements of mixed builds.

A chain goes from a kernel's source to its machine code. Cutting it at a stage, and building what is above the
cut with one toolchain and what is below with the other, gives one number per cut and direction:

    cut at            source   ttir   ttgir   llir   ptx   cubin
    good above, bad below  88     88      88      5     5       5     the good LLIR is enough to have 5
    bad above, good below   5      5       5     88    88      88     the bad LLIR is enough to have 88

Both rows change between ttgir and llir: that step is at fault. If they change in different places, the steps
only do harm together, and no single one is at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from irscope.jobs.bisect.compiling import CompiledVariant
from irscope.jobs.bisect.criteria import Criterion, Reading
from irscope.jobs.bisect.interruption import threads
from irscope.jobs.bisect.layer_swap import Cut, Mixer
from irscope.jobs.versions.environments import Environment
from irscope.model.records import frozen
from irscope.model.text import clipped, one_line
from irscope.targets import CUDA, backend_of

# A step is at fault if it accounts for this share of the change; 1 is all of it.
_MOST_OF_IT = 2 / 3


@frozen
class StepRange:
    """The steps between two cuts (indices, `first` < `last`) in which `share` of the change happens."""

    first: int
    last: int
    share: float


@frozen
class Located:
    """The span of steps in which both directions say that the value changes.

    `span` is None if nothing can be said: `reason` says why. It covers several steps if cuts between them
    could not be built.
    """

    span: StepRange | None
    reason: str = ""


def largest_change(badness: Sequence[float | None]) -> StepRange | None:
    """Return the neighboring known cuts between which most of the change happens; None if there are none.

    The first and the last value are known, and one of them is 0, the other 1.
    """
    known = [index for index, value in enumerate(badness) if value is not None]
    rising = (badness[known[-1]] or 0.0) > (badness[known[0]] or 0.0)
    spans = [
        StepRange(i, j, ((badness[j] or 0.0) - (badness[i] or 0.0)) * (1 if rising else -1))
        for i, j in pairwise(known)
    ]
    best = max(spans, key=lambda span: span.share, default=None)
    return best if best is not None and best.share >= _MOST_OF_IT else None


def locate(forward: Sequence[float | None], reverse: Sequence[float | None], names: Sequence[str]) -> Located:
    """Locates the change of both directions' badness; `names` are those of the steps, one less than cuts."""
    spans = [largest_change(forward), largest_change(reverse)]
    a, b = spans
    if a is None or b is None:
        shares = " and ".join(
            f"{way}: {contributions(values, names)}"
            for way, values, span in (("good to bad", forward, a), ("bad to good", reverse, b))
            if span is None
        )
        return Located(None, f"no single step accounts for most of the change ({shares})")
    first, last = max(a.first, b.first), min(a.last, b.last)
    if first >= last:
        places = [" or ".join(names[span.first : span.last]) for span in (a, b)]
        return Located(
            None,
            f"the two directions disagree: good to bad changes in {places[0]}, bad to good in {places[1]}, "
            "so it takes both to make it worse",
        )
    return Located(StepRange(first, last, min(a.share, b.share)))


def contributions(badness: Sequence[float | None], names: Sequence[str]) -> str:
    """Return the share of each step in words: "middle 60%, ptxas 40%"."""
    known = [index for index, value in enumerate(badness) if value is not None]
    parts = []
    for i, j in pairwise(known):
        share = abs((badness[j] or 0.0) - (badness[i] or 0.0))
        if round(share * 100):
            parts.append(f"{' + '.join(names[i:j])} {share:.0%}")
    return ", ".join(parts) or "nothing"


FRONT_END, MIDDLE, LLVM, PTXAS, ASSEMBLER = "front end", "middle", "LLVM", "ptxas", "assembler"
SOURCE_CUT = "source"
_MAX_PROBLEM = 200
# A stage is left out if its own side makes of it a value that is this share of the change away from its own.
_TOLERANCE = 0.1


@frozen
class Endpoint:
    """One end of a bisection: the toolchain, the variant as it compiled it, and what was read from that."""

    side: Environment
    compiled: CompiledVariant
    reading: Reading


@frozen
class Pair:
    """The two ends between which something got worse, and what is read from builds."""

    good: Endpoint
    bad: Endpoint
    criterion: Criterion

    def badness(self, reading: Reading | None) -> float | None:
        """How bad a reading is: 0 like the good end, 1 like the bad one."""
        return self.criterion.badness(reading, self.good.reading, self.bad.reading)


@frozen
class Mixed:
    """The reading of a mixed build: the value as text and its badness, or why it has none."""

    text: str
    badness: float | None
    problem: str = ""
    note: str = ""


@frozen
class CutResult:
    """A cut and both directions: the good side's text built by the bad side (`good_to_bad`), and the reverse.

    `problem` says why neither counts: a side does not reproduce its own value from its own text.
    """

    name: str
    good_to_bad: Mixed
    bad_to_good: Mixed
    problem: str = ""


@frozen
class LayerResult:
    """The layers that may be at fault, in order, and the evidence; `located.reason` says why there is none.

    `steps` are the names of the steps between cuts ("ttgir -> llir"), `located` indexes them.
    """

    cuts: tuple[CutResult, ...]
    steps: tuple[str, ...]
    located: Located
    layers: tuple[str, ...]

    @property
    def layer(self) -> str | None:
        """The layer at fault; None if it is unknown."""
        return self.layers[0] if len(self.layers) == 1 else None

    @property
    def step(self) -> str:
        """The step or steps at fault: "ttgir -> llir"; "" if unknown."""
        span = self.located.span
        if span is None:
            return ""
        first, last = self.steps[span.first], self.steps[span.last - 1]
        return first if first == last else f"{first.partition(' -> ')[0]} -> {last.rpartition(' -> ')[2]}"


def layer_of(stage: str, pair: Pair) -> str:
    """Return the layer that makes a stage."""
    backend = backend_of(pair.good.compiled.variant.target)
    named = {"ttir": FRONT_END, "glir": FRONT_END, "source": FRONT_END, "ttgir": MIDDLE}
    if stage == backend.binary:
        return PTXAS if stage == CUDA.binary else ASSEMBLER
    return named.get(stage, LLVM)


def attribute(
    pair: Pair,
    mixer: Mixer,
    jobs: int,
    report: Callable[[str], None],
    known: Callable[[LayerResult], object],
) -> LayerResult:
    """Build every stage of each side with the other side and say which layer is at fault.

    `known` gets the result so far after each stage; several threads call it.
    """
    cuts: dict[str, CutResult] = {}

    def add_cut(stage: str) -> None:
        cuts[stage] = _cut(pair, mixer, stage, report)
        known(_layer_result(pair, dict(cuts)))

    with threads(jobs) as executor:
        list(executor.map(add_cut, _stages(pair)[:-1]))
    return _layer_result(pair, cuts)


def _stages(pair: Pair) -> list[str]:
    return [stage for stage in pair.good.compiled.stages if stage in pair.bad.compiled.stages]


def _layer_result(pair: Pair, cuts_by_stage: Mapping[str, CutResult]) -> LayerResult:
    """Return the layer that the cuts made so far show; a stage without one is not counted."""
    stages = _stages(pair)
    steps = tuple(f"{a} -> {b}" for a, b in pairwise((SOURCE_CUT, *stages)))
    skipped = Mixed("", None, "not counted")
    inner = [
        cuts_by_stage.get(stage, CutResult(stage, skipped, skipped, "not tried")) for stage in stages[:-1]
    ]
    good, bad = pair.good.reading, pair.bad.reading
    first = CutResult(SOURCE_CUT, Mixed(bad.text, 1.0), Mixed(good.text, 0.0))
    last = CutResult(stages[-1], Mixed(good.text, 0.0), Mixed(bad.text, 1.0))
    cuts = (first, *inner, last)
    rows = [cut.good_to_bad.badness for cut in cuts], [cut.bad_to_good.badness for cut in cuts]
    located = locate(*rows, steps)
    if located.span is None:
        located = _located_layer(rows, steps, stages, pair) or located
    span = located.span
    at_fault = () if span is None else stages[span.first : span.last]
    layers = dict.fromkeys(layer_of(stage, pair) for stage in at_fault)
    return LayerResult(cuts, steps, located, tuple(layers))


def _located_layer(
    rows: tuple[list[float | None], list[float | None]],
    steps: Sequence[str],
    stages: Sequence[str],
    pair: Pair,
) -> Located | None:
    """Locates the change with the steps of one layer as one step; None if that does not help."""
    layers = [layer_of(stage, pair) for stage in stages]
    inner = [index for index in range(1, len(layers)) if layers[index - 1] == layers[index]]
    merged = [[None if index in inner else value for index, value in enumerate(row)] for row in rows]
    located = locate(merged[0], merged[1], steps)
    return located if inner and located.span is not None else None


def _cut(pair: Pair, mixer: Mixer, stage: str, report: Callable[[str], None]) -> CutResult:
    report(f"swapping {stage}")
    good, bad = pair.good, pair.bad
    ours, theirs = Cut(stage, good.compiled.text(stage)), Cut(stage, bad.compiled.text(stage))
    if problem := control(pair, mixer, ours, theirs):
        skipped = Mixed("", None, "not counted")
        return CutResult(stage, skipped, skipped, problem)
    return CutResult(
        stage,
        mixed(pair, mixer.build(good.compiled, ours, bad.side)),
        mixed(pair, mixer.build(bad.compiled, theirs, good.side)),
    )


def control(pair: Pair, mixer: Mixer, ours: Cut, theirs: Cut) -> str:
    """Why a cut does not count: a side does not get its own value from its own text; "" if both do."""
    for end, cut, expected in ((pair.good, ours, 0.0), (pair.bad, theirs, 1.0)):
        found = mixed(pair, mixer.build(end.compiled, cut, end.side))
        if found.badness is None or abs(found.badness - expected) > _TOLERANCE:
            own = f"{end.side.label} does not get {end.reading.text} from its own {cut.inside or cut.stage}"
            return f"not counted: {own} ({found.text or found.problem})"
    return ""


def mixed(pair: Pair, compiled: CompiledVariant) -> Mixed:
    """Read the criterion from a mixed build."""
    failure = compiled.variant.failure
    if failure is not None:
        return Mixed("", None, clipped(one_line(f"not accepted: {failure.summary}"), _MAX_PROBLEM))
    reading = pair.criterion.read(compiled.facts)
    if reading is None:
        return Mixed("", None, "the fact is unknown")
    badness = pair.badness(reading)
    note = compiled.variant.output
    return Mixed(reading.text, badness, "" if badness is not None else "like neither side", note)
