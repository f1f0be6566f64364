"""Where in the compiler two variants part: their passes side by side, and the first that made it so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irscope.analysis.finding import Finding
from irscope.analysis.pass_history import Documents, PassModule, PassStep, large, opcode_changes
from irscope.diff.align import Block, common_blocks
from irscope.diff.rows import Change, StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.diff.summary import summarize
from irscope.languages.document import Document

# Above what follows from it: a pass is the nearest to a cause that can be named.
_WEIGHT = 6.0

# The ways in which two variants can part, most telling first.
KINDS = ("operations", "layouts", "attributes")


@dataclass(frozen=True, slots=True)
class PassPair:
    """Steps of A and B that correspond: one of each, or those in a row that only one of them has."""

    a: tuple[PassStep, ...]
    b: tuple[PassStep, ...]

    @property
    def name(self) -> str:
        """The pass; those that only one side has, joined."""
        names = dict.fromkeys(step.name for step in (*self.a, *self.b) if step.changed)
        return ", ".join(names) or (*self.a, *self.b)[0].name

    @property
    def stage(self) -> str:
        """The stage that it is part of."""
        return (*self.a, *self.b)[0].stage


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first moment after which A and B differ in a way and stay so.

    None: they came to the first pass so. `summary` is the difference of the two modules after it.
    """

    moment: PassPair | None
    summary: str

    @property
    def place(self) -> str:
        """The pass and its stage in words."""
        if self.moment is None:
            return "before the first pass"
        if not self.moment.name:
            return f"before the passes of {self.moment.stage}"
        return f"in pass {self.moment.name} of {self.moment.stage}"


@dataclass(frozen=True, slots=True)
class Divergences:
    """Where two variants part for good.

    `operations`: operations that only one has, or that work on others. `layouts`: layouts.
    `attributes`: what a pass notes at an operation for those after it. Each None where they do not;
    differences of shapes and constants alone, and operations that are constants, count for none, nor does
    what a later pass undoes.
    """

    operations: Divergence | None = None
    layouts: Divergence | None = None
    attributes: Divergence | None = None

    @property
    def first(self) -> Divergence | None:
        """The first real difference: of operations or layouts, of attributes where there is no other."""
        found = [parting for parting in (self.operations, self.layouts) if parting is not None]
        return min(found, key=_place, default=self.attributes)


def _place(parting: Divergence) -> int:
    steps = () if parting.moment is None else (*parting.moment.a, *parting.moment.b)
    return min((step.number for step in steps), default=0)


def divergences(
    a: Sequence[PassStep], b: Sequence[PassStep], document_a: Documents, document_b: Documents
) -> Divergences:
    """Where two variants part."""
    found: dict[str, Divergence] = {}
    for moment, left, right in _since_equal(list(_states(a, b))):
        stage = moment.stage if moment else a[0].stage
        # Below TTGIR the modules are large, and lose their layouts.
        below = stage == "llir"
        if below and "operations" in found:
            break
        kinds, summary = _difference(stage, document_a(left), document_b(right))
        for kind in KINDS:
            if kind in kinds:
                found.setdefault(kind, Divergence(moment, summary))
            # A note that was used is gone, and what it led to stays.
            elif not below and (kind != "attributes" or not kinds):
                found.pop(kind, None)
    return Divergences(**found)


def divergence_findings(found: Divergences) -> Iterator[Finding]:
    """Where two variants part, as findings: operations and layouts, attributes where nothing else does."""
    first = found.first
    for parting, what in ((first, "A and B"), (found.layouts, "Their layouts")):
        if parting is not None and (parting is first) == (what == "A and B"):
            yield Finding(f"{what} part {parting.place}: {parting.summary}", _WEIGHT, "passes")


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


def pairs(a: Sequence[PassStep], b: Sequence[PassStep]) -> Iterator[tuple[PassStep | None, PassStep | None]]:
    """The same a line each: a step that only one side has stands alone."""
    for moment in pass_pairs(a, b):
        if len(moment.a) == len(moment.b) == 1:
            yield moment.a[0], moment.b[0]
        else:
            yield from ((step, None) for step in moment.a)
            yield from ((None, step) for step in moment.b)


_State = tuple[PassPair | None, PassModule, PassModule]


def _states(a: Sequence[PassStep], b: Sequence[PassStep]) -> Iterator[_State]:
    """The modules of both before the first pass, and after each moment that changed one, where comparable."""
    if not a or not b:
        return
    left, right = a[0].before, b[0].before
    if left and right:
        yield None, left, right
    for moment in pass_pairs(a, b):
        left = moment.a[-1].after if moment.a else left
        right = moment.b[-1].after if moment.b else right
        changed = any(step.changed for step in (*moment.a, *moment.b))
        if changed and left and right and left.language == right.language:
            yield moment, left, right


def _since_equal(states: Sequence[_State]) -> Sequence[_State]:
    same = (index for index, (_, left, right) in enumerate(states) if left == right)
    return states[max(same, default=-1) + 1 :]


def _difference(stage: str, left: Document, right: Document) -> tuple[set[str], str]:
    """The ways in which two modules differ, by the names in Partings, and a line on it."""
    if large(left, right) and (opcodes := opcode_changes(left, right)):
        return {"operations"}, ", ".join(opcodes)
    diff = diff_stage(stage, left, right)
    return set(_kinds(diff)), summarize(diff)


def _kinds(diff: StageDiff) -> Iterator[str]:
    """The ways in which a diff is of more than shapes and constants."""
    changes = {row.change for row in diff.rows}
    moved = [row for row in diff.rows if row.change & _MOVED]
    # What reads a constant is rewired where another value of it made or spared one.
    rewired = not moved and any(change & Change.OPERANDS for change in changes)
    if rewired or any(map(_typed, changes)) or not all(diff.is_constant(row) for row in moved):
        yield "operations"
    if diff.layouts or any(change & Change.LAYOUT for change in changes):
        yield "layouts"
    if any(change & Change.ATTRIBUTE for change in changes):
        yield "attributes"


_MOVED = Change.ADDED | Change.REMOVED


def _typed(change: Change) -> bool:
    """Whether a row's types differ; those of an attribute's value do not count."""
    return bool(change & Change.TYPE) and not change & Change.ATTRIBUTE
