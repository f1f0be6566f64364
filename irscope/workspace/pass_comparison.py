"""The compiler's passes of A and B side by side: what each did, and where A and B diverge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irscope.analysis.divergence import KINDS, Divergence, aligned_steps
from irscope.analysis.pass_history import Documents, PassModule, PassStep, summary, touched
from irscope.analysis.source_alignment import line_map
from irscope.diff.line_map import NO_LINES
from irscope.diff.rows import Change, StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.languages.document import Document

if TYPE_CHECKING:
    from irscope.workspace.comparison import Comparison

# The two modules that the diff of a pass compares.
IN_A, IN_B, BOTH = "a", "b", "both"

_NOTHING = "nothing"


@dataclass(slots=True)
class PassLine:
    """A pass as A and B ran it, None if one did not.

    `effects` is what it did in A and in B, "" if nothing; None until that is known. `touched` counts, per
    side, the operations of a source line that the pass touched; None if no line was asked for. `diverging`
    names the ways in which A and B diverge in it.
    """

    a: PassStep | None
    b: PassStep | None
    effects: tuple[str, str] | None = None
    touched: tuple[Mapping[Change, int], Mapping[Change, int]] | None = None
    diverging: list[str] = field(default_factory=list)

    @property
    def steps(self) -> list[PassStep]:
        """The pass in A, in B, or in both."""
        return [step for step in (self.a, self.b) if step is not None]

    @property
    def step(self) -> PassStep:
        """A's step; B's if A did not run the pass."""
        return self.steps[0]

    @property
    def changed(self) -> bool:
        """Whether the pass changed a module."""
        return any(step.changed for step in self.steps)

    @property
    def options(self) -> str:
        """The options of the pass, of both sides if they differ."""
        left, right = (step.options if step else "" for step in (self.a, self.b))
        return _both(self, left, right, "  ")

    @property
    def summary(self) -> str:
        """The effect of the pass, of both sides if they differ; "" until that is known."""
        if self.effects is None:
            return ""
        left, right = (
            effect or _NOTHING if step else ""
            for effect, step in zip(self.effects, (self.a, self.b), strict=True)
        )
        return _both(self, left, right, "   ")

    def comparable(self, wanted: str) -> str:
        """`wanted` (IN_A, IN_B or BOTH) if both sides ran the pass, else the side that did."""
        if self.a is None or self.b is None:
            return IN_A if self.b is None else IN_B
        return wanted


@dataclass(frozen=True, slots=True)
class PassChange:
    """The changes of a pass, or the differences of A and B after it (`between`).

    Without a diff, `note` says why, and `after` is the module after a pass that translated it to another
    language.
    """

    step: PassStep
    between: bool
    diff: StageDiff | None = None
    note: str = ""
    after: Document | None = None


@dataclass(frozen=True, slots=True)
class PassDifference:
    """One way in which two variants differ, and what the first such passes did: lines for A and for B.

    `kind` is one of "operations", "layouts" and "attributes"; `divergence` is None if they do not differ in
    it.
    """

    kind: str
    divergence: Divergence | None
    a: Sequence[str] = ()
    b: Sequence[str] = ()


class PassComparison:
    """The passes of A and B, in order; those of one side if both are one variant or only one has any.

    `lines` are cheap to list. The methods compare modules, which takes up to seconds for all of them.
    """

    def __init__(self, pair: Comparison) -> None:
        self._pair = pair
        self._lines = line_map(pair.a.kernel, pair.b.kernel)
        a = pair.workspace.passes(pair.a)
        b = [] if pair.single else pair.workspace.passes(pair.b)
        self.paired = bool(a and b)
        self.lines = [PassLine(left, right) for left, right in aligned_steps(a, b)]

    def mark_divergence(self) -> Divergence | None:
        """Finds where A and B diverge, marks these passes, and returns the first real divergence."""
        for kind, divergence in self._divergences().items():
            passes = divergence.passes if divergence is not None else None
            steps = () if passes is None else (*passes.a, *passes.b)
            for line in self.lines:
                if any(step in steps for step in line.steps):
                    line.diverging.append(kind)
        return self._pair.divergence.first if self._pair.divergence else None

    def differences(self) -> list[PassDifference]:
        """Each way in which A and B can differ, and what the passes did in which they diverge."""
        found = []
        for kind, divergence in self._divergences().items():
            passes = divergence.passes if divergence is not None else None
            sides = (passes.a, passes.b) if passes is not None else ((), ())
            modules = zip(sides, (self._module_a, self._module_b), strict=True)
            lines = ([_describe(step, module) for step in steps] for steps, module in modules)
            found.append(PassDifference(kind, divergence, *lines))
        return found

    def summarize(self, line: PassLine) -> None:
        """Computes what a pass did, in A and in B."""
        sides = zip((line.a, line.b), (self._module_a, self._module_b), strict=True)
        left, right = (summary(step, module) if step else "" for step, module in sides)
        line.effects = left, right

    def count_touched(self, line: PassLine, number: int) -> bool:
        """Counts what a pass did to the operations of a line of Python; returns whether it did anything.

        The line is one of B's source.
        """
        sides = zip((line.a, line.b), (self._module_a_in_lines_of_b, self._module_b), strict=True)
        left, right = (touched(step, number, module) if step else {} for step, module in sides)
        line.touched = left, right
        return bool(left or right)

    def change(self, line: PassLine, wanted: str) -> PassChange:
        """The changes of a pass in A or in B (`wanted`); with BOTH, the differences of A and B after it."""
        shown = line.comparable(wanted)
        step = line.b if shown == IN_B and line.b is not None else line.step
        left, right = _modules(line, shown)
        between = shown == BOTH
        if left is None or right is None:
            return PassChange(step, between, note="the capture does not have this module")
        if left == right and not between:
            return PassChange(step, between, note="changed nothing")
        before = self._module_b(left) if shown == IN_B else self._module_a(left)
        after = self._module_a(right) if shown == IN_A else self._module_b(right)
        if left.language != right.language:
            note = f"no diff between {left.language} and {right.language}"
            return PassChange(step, between, note=note, after=after)
        lines = self._lines if between else NO_LINES
        return PassChange(step, between, diff_stage(step.stage, before, after, lines))

    def _divergences(self) -> dict[str, Divergence | None]:
        """The divergence of each kind, None if there is none; empty without a pair."""
        found = self._pair.divergence if self.paired else None
        return {} if found is None else {kind: getattr(found, kind) for kind in KINDS}

    def _module_a(self, module: PassModule) -> Document:
        return self._pair.workspace.module(module, self._pair.a)

    def _module_b(self, module: PassModule) -> Document:
        return self._pair.workspace.module(module, self._pair.b)

    def _module_a_in_lines_of_b(self, module: PassModule) -> Document:
        return self._lines.in_lines_of_b(self._module_a(module))


def _describe(step: PassStep, documents: Documents) -> str:
    options = f" ({step.options})" if step.options else ""
    return f"{step.name}{options}: {summary(step, documents) or _NOTHING}"


def _modules(line: PassLine, shown: str) -> tuple[PassModule | None, PassModule | None]:
    if shown == BOTH and line.a is not None and line.b is not None:
        return line.a.after, line.b.after
    step = line.b if shown == IN_B and line.b is not None else line.step
    return step.before, step.after


def _both(line: PassLine, left: str, right: str, gap: str) -> str:
    if line.a is None or line.b is None or left == right:
        return left or right
    return f"A {left}{gap}B {right}"
