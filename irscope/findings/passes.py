"""The changes of each compiler pass to one variant, from the modules between the passes.

Finds the pass in which two variants diverge: their passes side by side, and the first that matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from irscope.diff.align import MatchingBlock, common_blocks
from irscope.diff.line_map import NO_LINES, LineMap
from irscope.diff.rows import Change, Row, StageDiff, describe_layout
from irscope.diff.stage_diff import diff_stage
from irscope.languages.document import Document
from irscope.model import Artifact, Pass
from irscope.model.records import frozen
from irscope.model.stage import pass_language, pass_name, pass_options
from irscope.model.text import pluralize

# How many opcodes and layouts a summary names; the diff has all of them.
_MOST_OPCODES, _MOST_LAYOUTS = 4, 2
# Aligning this many operations takes half a second; TTGIR has fewer, the LLVM dialect up to 14,000.
_LARGE = 4_000


@frozen
class PassModule:
    """A module between two passes; `language` is its name in the stage table."""

    artifact: Artifact
    language: str


@frozen
class PassStep:
    """A pass as it ran, with the modules before and after it.

    `number` counts from 1 over all stages. `stage` is the stage that the pass is part of, `seconds` the time
    that it took. `before` and `after` are the modules, None if there is none. `name` is MLIR's, or "" if
    Triton itself changed the module between two pipelines; `options` are the options of the pass. `failed`:
    it did not finish.
    """

    number: int
    stage: str
    name: str
    options: str
    seconds: float
    before: PassModule | None
    after: PassModule | None
    failed: bool

    @property
    def changed(self) -> bool:
        """Whether it changed the module."""
        return self.before != self.after


# The parsed text of a module.
Documents = Callable[[PassModule], Document]


def steps(passes: Sequence[Pass]) -> list[PassStep]:
    """Return the passes of a variant with the modules before and after each, in order.

    The input of a stage is a step only if it is not the output of the stage before it.
    """
    found: list[PassStep] = []
    module: PassModule | None = None
    for each in passes:
        language = pass_language(each.name)
        after = module
        if each.artifact is not None and (module is None or each.artifact.digest != module.artifact.digest):
            after = PassModule(each.artifact, language)
        if each.name or (module is not None and after != module):
            name, options = pass_name(each.name), pass_options(each.name)
            failed = bool(each.name) and not each.seconds
            found.append(
                PassStep(len(found) + 1, each.stage, name, options, each.seconds, module, after, failed)
            )
        module = after
    return found


def step_diff(step: PassStep, document: Documents) -> StageDiff | None:
    """Return the diff of a pass; None if it changed nothing or translated the module to another language."""
    if step.before is None or step.after is None or not step.changed:
        return None
    if step.before.language != step.after.language:
        return None
    return diff_stage(step.stage, document(step.before), document(step.after))


def summary(
    step: PassStep, document: Documents, diff: Callable[[str, PassModule, PassModule], StageDiff]
) -> str:
    """Return the changes of a pass in one line: operations added and removed, layouts, attributes.

    `diff` compares two modules of a stage.
    """
    if step.failed:
        return "failed"
    if not step.changed or step.before is None or step.after is None:
        return ""
    before, after = document(step.before), document(step.after)
    if before.language != after.language:
        number = pluralize(len(before.operations), "operation")
        return f"{number} of MLIR became {len(after.operations):,} of LLVM IR"
    opcodes = opcode_changes(before, after)
    if opcodes and large(before, after):
        return ", ".join(opcodes)
    changes = diff(step.stage, step.before, step.after)
    return ", ".join([*opcodes, *_layouts(changes)] or _others(changes))


def large(before: Document, after: Document) -> bool:
    """Whether aligning two modules takes too long; their opcodes say as much."""
    return len(before.operations) + len(after.operations) > _LARGE


def opcode_changes(before: Document, after: Document) -> list[str]:
    """Return the change in the number of each operation, the largest first."""
    net = Counter(operation.opcode for operation in after.operations)
    net.subtract(operation.opcode for operation in before.operations)
    moved = sorted((opcode for opcode in net if net[opcode]), key=lambda opcode: (-abs(net[opcode]), opcode))
    parts = [f"{net[opcode]:+,} {opcode}" for opcode in moved[:_MOST_OPCODES]]
    more = len(moved) - len(parts)
    return [*parts, f"{more} more"] if more else parts


def _layouts(diff: StageDiff) -> list[str]:
    """Return the layouts that are new or changed."""
    parts = []
    for change in diff.layouts:
        if change.left is None and change.right is not None:
            parts.append(f"new {change.right.alias} {change.right.kind}")
        elif change.left is not None and change.right is not None:
            parts.append(describe_layout(change))
    more = len(parts) - _MOST_LAYOUTS
    return [*parts[:_MOST_LAYOUTS], f"{more} more layouts"] if more > 0 else parts


def _others(diff: StageDiff) -> list[str]:
    """Return the other changes, if no operation and no layout is new."""
    if diff.equal:
        return ["only names and locations"]
    added = diff.counts.get(Change.ADDED, 0)
    if added and added == diff.counts.get(Change.REMOVED):
        return [f"{added:,} moved"]
    return [diff.summary.removeprefix("0 added, 0 removed, ")]


def touched(step: PassStep, line: int, document: Documents) -> Mapping[Change, int]:
    """How many operations of a source line a pass added, removed or changed; {} if none.

    `line` is a line of the kernel itself, counted from 1; operations inlined there count too.
    """
    diff = step_diff(step, document)
    counts: Counter[Change] = Counter()
    for row in diff.rows if diff is not None else ():
        if diff is not None and row.change and line in _source_lines(diff, row):
            counts.update(kind for kind in Change if kind & row.change)
    return counts


def _source_lines(diff: StageDiff, row: Row) -> Iterator[int]:
    for document, line in ((diff.left, row.left), (diff.right, row.right)):
        if (location := document.location_at(line)) is not None:
            yield location.outermost.line


@frozen
class PassEvent:
    """The change of a pass to one operation; `line` is its line after the pass, counted from 0."""

    step: PassStep
    change: Change
    line: int


def history(through: Sequence[PassStep], stage: str, line: int, document: Documents) -> list[PassEvent]:
    """Return the passes that touched the operation at `line` of the output of `stage`, in the order they ran.

    Starts with the pass that created the operation, even if it replaced another one.
    """
    events: list[PassEvent] = []
    last = max((index for index, step in enumerate(through) if step.stage == stage), default=-1)
    for step in reversed(through[: last + 1]):
        diff = step_diff(step, document)
        if diff is None:
            if step.changed:
                break
            continue
        row = next((row for row in diff.rows if row.right == line), None)
        if row is None:
            break
        if row.change:
            events.append(PassEvent(step, row.change, line))
        if row.left is None:
            break
        line = row.left
    return events[::-1]


# The ways in which two variants can diverge, most important first.
KINDS = ("operations", "layouts", "attributes")


@frozen
class PassPair:
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


@frozen
class Divergence:
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


@frozen
class Divergences:
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
    """Return the places where two variants diverge. `lines` are the lines of A's source in B's."""
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
    for block in (*common_blocks(ours, theirs), MatchingBlock(len(a), len(b), 0)):
        if i < block.left or j < block.right:
            yield PassPair(tuple(a[i : block.left]), tuple(b[j : block.right]))
        i, j = block.left + block.size, block.right + block.size
        for left, right in zip(a[block.left : i], b[block.right : j], strict=True):
            yield PassPair((left,), (right,))


def aligned_steps(
    a: Sequence[PassStep], b: Sequence[PassStep]
) -> Iterator[tuple[PassStep | None, PassStep | None]]:
    """Yield the same pairs with one step per side; None for a side without a corresponding step."""
    for pair in pass_pairs(a, b):
        if len(pair.a) == len(pair.b) == 1:
            yield pair.a[0], pair.b[0]
        else:
            yield from ((step, None) for step in pair.a)
            yield from ((None, step) for step in pair.b)


_State = tuple[PassPair | None, PassModule, PassModule]


def _states(a: Sequence[PassStep], b: Sequence[PassStep]) -> Iterator[_State]:
    """Yield the modules before the first pass and after each pair that changed one, if comparable."""
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
    """Return the ways in which two modules differ, as named in KINDS, and a line about it."""
    if large(left, right) and (opcodes := opcode_changes(left, right)):
        return {"operations"}, ", ".join(opcodes)
    diff = diff_stage(stage, left, right, lines)
    return set(_kinds(diff)), diff.summary


def _kinds(diff: StageDiff) -> Iterator[str]:
    """Yield the ways in which a diff has more than shapes and constants."""
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
