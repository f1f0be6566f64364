"""The compiler's passes of A and B side by side, for a view that shows each as soon as it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irscope.analysis.divergence import KINDS, Divergence, aligned_steps
from irscope.analysis.pass_history import PassModule, PassStep, summary
from irscope.diff.rows import Row
from irscope.diff.stage_diff import diff_stage

if TYPE_CHECKING:
    from irscope.workspace.comparison import Comparison

# What the diff of a pass compares.
IN_A, IN_B, BOTH = "a", "b", "both"


@dataclass(slots=True)
class PassLine:
    """A pass as A and B ran it, None if one did not.

    `summary` is what it did, once that is known; `diverging` names the ways in which A and B diverge in it.
    """

    a: PassStep | None
    b: PassStep | None
    summary: str = ""
    diverging: list[str] = field(default_factory=list)

    @property
    def step(self) -> PassStep:
        """A's step; B's if A did not run the pass."""
        return next(step for step in (self.a, self.b) if step is not None)

    @property
    def changed(self) -> bool:
        """Whether the pass changed a module."""
        return any(step is not None and step.changed for step in (self.a, self.b))

    @property
    def options(self) -> str:
        """The options of the pass, of both sides if they differ."""
        left, right = (step.options if step else "" for step in (self.a, self.b))
        return _both(self, left, right, "  ")

    def comparable(self, wanted: str) -> str:
        """`wanted` (IN_A, IN_B or BOTH) if both sides ran the pass, else the side that did."""
        if self.a is None or self.b is None:
            return IN_A if self.b is None else IN_B
        return wanted


@dataclass(frozen=True, slots=True)
class PassTexts:
    """What to show of a pass: a message, or one text, or two texts and the rows that align them."""

    left: Sequence[str]
    right: Sequence[str] | None = None
    rows: Sequence[Row] = ()
    language: str | None = None


class PassComparison:
    """The passes of A and B; those of A if both are the same variant."""

    def __init__(self, pair: Comparison) -> None:
        self._pair = pair
        self._workspace = pair.workspace
        a = self._workspace.passes(pair.a)
        b = [] if pair.a.id == pair.b.id else self._workspace.passes(pair.b)
        self.paired = bool(a and b)
        steps = aligned_steps(a, b) if self.paired else ((step, None) for step in a or b)
        self.lines = [PassLine(left, right) for left, right in steps]

    def mark_divergence(self) -> Divergence | None:
        """Finds where A and B diverge, marks these passes, and returns the first real divergence.

        Compares modules, which takes up to seconds.
        """
        found = self._pair.divergence
        if found is None:
            return None
        for kind in KINDS:
            divergence: Divergence | None = getattr(found, kind)
            passes = divergence.passes if divergence is not None else None
            steps = () if passes is None else (*passes.a, *passes.b)
            for line in self.lines:
                if any(step in steps for step in (line.a, line.b) if step is not None):
                    line.diverging.append(kind)
        return found.first

    def summarize(self, line: PassLine) -> None:
        """Computes what a pass did, of both sides if they differ. Compares modules."""
        module = self._workspace.module
        left, right = (summary(step, module) or "nothing" if step else "" for step in (line.a, line.b))
        line.summary = _both(line, left, right, "   ")

    def texts(self, line: PassLine, wanted: str) -> PassTexts:
        """The modules before and after a pass in A or in B, or those of A and B after it, aligned."""
        shown = line.comparable(wanted)
        left, right = _modules(line, shown)
        if left is None or right is None:
            return PassTexts(["The capture does not have this module."])
        if left == right and shown != BOTH:
            return PassTexts([f"{line.step.name} changed nothing."])
        before, after = self._workspace.module(left), self._workspace.module(right)
        if left.language != right.language:
            return PassTexts(after.lines, language=right.language)
        rows = diff_stage(line.step.stage, before, after).rows
        return PassTexts(before.lines, after.lines, rows, left.language)


def _modules(line: PassLine, shown: str) -> tuple[PassModule | None, PassModule | None]:
    if shown == BOTH and line.a is not None and line.b is not None:
        return line.a.after, line.b.after
    step = line.b if shown == IN_B and line.b is not None else line.step
    return step.before, step.after


def _both(line: PassLine, left: str, right: str, gap: str) -> str:
    if line.a is None or line.b is None or left == right:
        return left or right
    return f"A {left}{gap}B {right}"
