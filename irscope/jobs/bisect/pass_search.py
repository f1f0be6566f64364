"""Finds the pass of a stage that makes a variant worse, by changing sides between two passes.

The module that the good side has after some of its passes is given to the bad side, which runs only its
remaining passes, and the reverse. Both sides' passes are aligned by name. A binary search finds the pass at
which the value changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irscope.findings.passes import PassStep, aligned_steps
from irscope.jobs.bisect.attribution import SOURCE_CUT, Endpoint, Mixed, Pair, StepRange, control, mixed
from irscope.jobs.bisect.compiling import CompiledVariant
from irscope.jobs.bisect.interruption import threads
from irscope.jobs.bisect.layer_swap import Cut, Mixer, named_passes, numbered
from irscope.model.records import frozen

CODE_GENERATOR = "the code generator, before the first pass"
OPTIMIZER = "the translation to LLVM IR and LLVM's optimizer"
# A value belongs to the side that it is nearer to.
_HALF = 0.5


@frozen
class PassTest:
    """A change of sides after the pass `after`, the `number`th boundary of the stage.

    `good_to_bad` says which side's passes ran first.
    """

    number: int
    after: str
    good_to_bad: bool
    result: Mixed


@frozen
class PassResult:
    """The pass at fault (None: unknown, see `reason`), the candidates, and the tests in order.

    `options` are the pass's options on the good and on the bad side.
    """

    name: str | None
    candidates: tuple[str, ...]
    tests: tuple[PassTest, ...]
    reason: str = ""
    options: tuple[str, str] = ("", "")


@frozen
class _Boundary:
    """A place between passes: how many passes of each side came before, and the name of the last."""

    good: int
    bad: int
    after: str


class PassSearch:
    """The search within one stage, `stage`, which is made from `before` (SOURCE_CUT: from Python)."""

    def __init__(self, pair: Pair, mixer: Mixer, before: str, stage: str) -> None:
        self._pair, self._mixer, self._before, self._stage = pair, mixer, before, stage
        self._good = named_passes(pair.good.compiled, stage)
        self._bad = named_passes(pair.bad.compiled, stage)
        self.pairs = list(aligned_steps(self._good, self._bad))
        self._boundaries = self._all_boundaries()
        self._tests: list[PassTest] = []

    def run(self, report: Callable[[str], None]) -> PassResult:
        """Search in both directions."""
        if not self._good or not self._bad:
            return PassResult(None, (), (), "the passes of a side were not recorded")
        report(f"searching the passes of {self._stage}")
        with threads(2) as executor:
            forward, reverse = executor.map(self._search, (True, False))
        tests = tuple(sorted(self._tests, key=lambda test: (test.number, not test.good_to_bad)))
        spans = [self._names(span) for span in (forward, reverse)]
        first, last = max(forward.first, reverse.first), min(forward.last, reverse.last)
        if first >= last:
            ways = f"good to bad changes in {' or '.join(spans[0])}, bad to good in {' or '.join(spans[1])}"
            return PassResult(None, (*spans[0], *spans[1]), tests, f"the two directions disagree: {ways}")
        found = self._names(StepRange(first, last, 1.0))
        if problem := self._control(first, last):
            return PassResult(None, tuple(found), tests, problem)
        if last - first > 1:
            return PassResult(None, tuple(found), tests, "no module between these passes can be swapped")
        return PassResult(found[0], tuple(found), tests, options=self._options(first))

    def boundary_of(self, result: PassResult) -> tuple[Cut, Cut] | None:
        """Return the good side's module before the pass at fault, for either side: the passes to skip differ.

        The first cut runs only the good side's version of the pass, the second only the bad side's.
        """
        index = next(
            (i for i in range(len(self._boundaries) - 1) if result.name and self._name(i) == result.name),
            None,
        )
        if index is None or self._is_outside(index):
            return None
        low, high = self._boundaries[index], self._boundaries[index + 1]
        text = self._text(self._pair.good.compiled, self._good, low.good)
        if text is None:
            return None
        return (
            self._only(text, self._good, range(low.good, high.good)),
            self._only(text, self._bad, range(low.bad, high.bad)),
        )

    def _only(self, text: str, passes: Sequence[PassStep], kept: range) -> Cut:
        names = numbered(passes)
        skip = tuple(name for number, name in enumerate(names) if number not in kept)
        return Cut(self._before, text, self._stage, skip)

    def _all_boundaries(self) -> list[_Boundary]:
        found = [_Boundary(0, 0, "")]
        for ours, theirs in self.pairs:
            last = found[-1]
            step = ours or theirs
            name = step.name if step else ""
            found.append(_Boundary(last.good + (ours is not None), last.bad + (theirs is not None), name))
        if self._before == SOURCE_CUT:  # what the code generator made comes before the first pass
            found.insert(0, _Boundary(-1, -1, SOURCE_CUT))
        if self._stage == "llir":  # the optimizer follows the last pass
            found.append(_Boundary(-1, -1, OPTIMIZER))
        return found

    def _is_outside(self, index: int) -> bool:
        return self._boundaries[index].good < 0 or self._boundaries[index + 1].good < 0

    def _name(self, index: int) -> str:
        """Return the pass between a boundary and the next, with its number if it runs more than once."""
        after = self._boundaries[index + 1]
        if self._boundaries[index].good < 0:
            return CODE_GENERATOR
        if after.good < 0:
            return OPTIMIZER
        passes, place = (
            (self._good, after.good) if after.good > self._boundaries[index].good else (self._bad, after.bad)
        )
        name = numbered(passes)[place - 1]
        return name if sum(step.name == after.after for step in passes) > 1 else after.after

    def _names(self, span: StepRange) -> list[str]:
        return [self._name(index) for index in range(span.first, span.last)]

    def _options(self, index: int) -> tuple[str, str]:
        if self._is_outside(index):
            return "", ""
        low, high = self._boundaries[index], self._boundaries[index + 1]
        ours = self._good[high.good - 1].options if high.good > low.good else "not run"
        theirs = self._bad[high.bad - 1].options if high.bad > low.bad else "not run"
        return ours, theirs

    def _search(self, good_to_bad: bool) -> StepRange:
        """Return the boundaries between which the value changes: neighbors, if all modules are accepted."""
        low, high = 0, len(self._boundaries) - 1
        ends_bad = not good_to_bad
        while high - low > 1:
            for index in sorted(range(low + 1, high), key=lambda i: abs(2 * i - low - high)):
                badness = self._test(index, good_to_bad)
                if badness is not None:
                    break
            else:
                break
            if (badness > _HALF) == ends_bad:
                high = index
            else:
                low = index
        return StepRange(low, high, 1.0)

    def _test(self, index: int, good_to_bad: bool) -> float | None:
        cut = self._cut(index, good_to_bad, crossing=True)
        if cut is None:
            return None
        ours, theirs = self._ends(good_to_bad)
        result = mixed(self._pair, self._mixer.build(ours.compiled, cut, theirs.side))
        name = self._name(index - 1) if index and self._boundaries[index].after else "(before the first pass)"
        self._tests.append(PassTest(index, name, good_to_bad, result))
        return result.badness

    def _ends(self, good_to_bad: bool) -> tuple[Endpoint, Endpoint]:
        return (self._pair.good, self._pair.bad) if good_to_bad else (self._pair.bad, self._pair.good)

    def _cut(self, index: int, of_good: bool, crossing: bool) -> Cut | None:
        """Return the module of a side at a boundary, for the other side (`crossing`) or for its own."""
        boundary = self._boundaries[index]
        passes, place = (self._good, boundary.good) if of_good else (self._bad, boundary.bad)
        compiled = (self._pair.good if of_good else self._pair.bad).compiled
        runs_good = of_good != crossing
        rest, done = (self._good, boundary.good) if runs_good else (self._bad, boundary.bad)
        text = self._text(compiled, passes, place)
        return None if text is None else Cut(self._before, text, self._stage, numbered(rest)[:done])

    def _text(self, compiled: CompiledVariant, passes: Sequence[PassStep], place: int) -> str | None:
        """Return the module of a side after `place` of its passes."""
        if place < 0:
            return None
        if place:
            module = passes[place - 1].after
        elif self._before != SOURCE_CUT:
            return compiled.text(self._before)
        else:
            module = passes[0].before
        return None if module is None else compiled.module(module).text

    def _control(self, first: int, last: int) -> str:
        """Why the boundaries around the pass do not count; "" if each side reproduces its own value there."""
        for index in (first, last):
            cuts = [self._cut(index, of_good, crossing=False) for of_good in (True, False)]
            ours, theirs = cuts
            inside = 0 < index < len(self._boundaries) - 1
            if not inside or ours is None or theirs is None:
                continue
            if problem := control(self._pair, self._mixer, ours, theirs):
                return problem
        return ""
