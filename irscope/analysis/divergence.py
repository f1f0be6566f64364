"""Finds the pass in which two variants diverge: their passes side by side, and the first that matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irscope.analysis.pass_history import (
    Documents,
    PassModule,
    PassStep,
    large,
    opcode_changes,
)
from irscope.diff.align import Block, common_blocks
from irscope.diff.line_map import NO_LINES, LineMap
from irscope.diff.rows import Change, StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.diff.summary import summarize
from irscope.languages.document import Document
from irscope.model.frozen_value import FrozenValue

# The ways in which two variants can diverge, most important first.
KINDS = ("operations", "layouts", "attributes")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PassPair(FrozenValue):
    """Corresponding steps of A and B: one of each, or consecutive steps that only one of them has."""

    a: tuple[PassStep, ...]
    b: tuple[PassStep, ...]

    @property
    def name(self) -> str:
        """The name of the pass; the names of several are joined."""
        names = dict.fromkeys(step.name for step in (*self.a, *self.b) if step.changed)
        return ", ".join(names) or (*self.a, *self.b)[0].name

    @property
    def stage(self) -> str:
        """The stage that the steps are part of."""
        return (*self.a, *self.b)[0].stage


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Divergence(FrozenValue):
    """The first passes after which A and B differ in some way for good.

    `passes` is None if they differ before the first pass. `summary` describes the difference of the two
    modules after the passes.
    """

    passes: PassPair | None
    summary: str

    @property
    def place(self) -> str:
        """The pass and its stage: "in pass tritongpu-pipeline (ttgir)"."""
        if self.passes is None:
            return "before the first pass"
        if not self.passes.name:
            return f"before the passes of {self.passes.stage}"
        return f"in pass {self.passes.name} ({self.passes.stage})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Divergences(FrozenValue):
    """The pass pairs from which on two variants differ, by kind of difference; None if they never do.

    `operations`: operations that only one has, or that have other operands. `layouts`: layouts.
    `attributes`: what a pass notes on an operation for later passes. Shapes, constants and differences
    that a later pass undoes do not count.
    """

    operations: Divergence | None = None
    layouts: Divergence | None = None
    attributes: Divergence | None = None

    @property
    def first(self) -> Divergence | None:
        """The first real difference: of operations or layouts; else of attributes."""
        found = [one for one in (self.operations, self.layouts) if one is not None]
        return min(found, key=_first_step, default=self.attributes)


def _first_step(divergence: Divergence) -> int:
    pair = divergence.passes
    steps = () if pair is None else (*pair.a, *pair.b)
    return min((step.number for step in steps), default=0)


def divergences(
    a: Sequence[PassStep],
    b: Sequence[PassStep],
    document_a: Documents,
    document_b: Documents,
    lines: LineMap = NO_LINES,
) -> Divergences:
    """The places where two variants diverge. `lines` are the lines of A's source in B's."""
    found: dict[str, Divergence] = {}
    for pair, left, right in _since_equal(list(_states(a, b))):
        stage = pair.stage if pair else a[0].stage
        # Below TTGIR, modules are large and lose their layouts.
        below = stage == "llir"
        if below and "operations" in found:
            break
        kinds, summary = _difference(stage, document_a(left), document_b(right), lines)
        for kind in KINDS:
            if kind in kinds:
                found.setdefault(kind, Divergence(pair, summary))
            # A note is gone once it was used; its effect stays.
            elif not below and (kind != "attributes" or not kinds):
                found.pop(kind, None)
    return Divergences(**found)


def pass_pairs(a: Sequence[PassStep], b: Sequence[PassStep]) -> Iterator[PassPair]:
    """Two variants' steps side by side, aligned by stage and name, in order."""
    ours, theirs = ([(step.stage, step.name) for step in side] for side in (a, b))
    i = j = 0
    for block in (*common_blocks(ours, theirs), Block(len(a), len(b), 0)):
        if i < block.left or j < block.right:
            yield PassPair(tuple(a[i : block.left]), tuple(b[j : block.right]))
        i, j = block.left + block.size, block.right + block.size
        for left, right in zip(a[block.left : i], b[block.right : j], strict=True):
            yield PassPair((left,), (right,))


def aligned_steps(
    a: Sequence[PassStep], b: Sequence[PassStep]
) -> Iterator[tuple[PassStep | None, PassStep | None]]:
    """The same pairs with one step per side; None for a side without a corresponding step."""
    for pair in pass_pairs(a, b):
        if len(pair.a) == len(pair.b) == 1:
            yield pair.a[0], pair.b[0]
        else:
            yield from ((step, None) for step in pair.a)
            yield from ((None, step) for step in pair.b)


_State = tuple[PassPair | None, PassModule, PassModule]


def _states(a: Sequence[PassStep], b: Sequence[PassStep]) -> Iterator[_State]:
    """The modules before the first pass and after each pair that changed one, if they are comparable."""
    if not a or not b:
        return
    left, right = a[0].before, b[0].before
    if left and right:
        yield None, left, right
    for pair in pass_pairs(a, b):
        left = pair.a[-1].after if pair.a else left
        right = pair.b[-1].after if pair.b else right
        changed = any(step.changed for step in (*pair.a, *pair.b))
        if changed and left and right and left.language == right.language:
            yield pair, left, right


def _since_equal(states: Sequence[_State]) -> Sequence[_State]:
    same = (index for index, (_, left, right) in enumerate(states) if left == right)
    return states[max(same, default=-1) + 1 :]


def _difference(stage: str, left: Document, right: Document, lines: LineMap) -> tuple[set[str], str]:
    """The ways in which two modules differ, as named in KINDS, and a line about it."""
    if large(left, right) and (opcodes := opcode_changes(left, right)):
        return {"operations"}, ", ".join(opcodes)
    diff = diff_stage(stage, left, right, lines)
    return set(_kinds(diff)), summarize(diff)


def _kinds(diff: StageDiff) -> Iterator[str]:
    """The ways in which a diff has more than shapes and constants."""
    changes = {row.change for row in diff.rows}
    moved = [row for row in diff.rows if row.change & _MOVED]
    # Another constant can add or save an operation, so that its users have another operand.
    rewired = not moved and any(change & Change.OPERANDS for change in changes)
    if rewired or any(map(_typed, changes)) or not all(diff.is_constant(row) for row in moved):
        yield "operations"
    if diff.layouts or any(change & Change.LAYOUT for change in changes):
        yield "layouts"
    if any(change & Change.ATTRIBUTE for change in changes):
        yield "attributes"


_MOVED = Change.ADDED | Change.REMOVED


def _typed(change: Change) -> bool:
    """Whether a row's types differ; the type of an attribute's value does not count."""
    return bool(change & Change.TYPE) and not change & Change.ATTRIBUTE
