"""The changes of each compiler pass to one variant, from the modules between the passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from irscope.diff.rows import Change, Row, StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.diff.summary import describe_layout, summarize
from irscope.languages.document import Document
from irscope.languages.language_registry import parse
from irscope.model import Artifact, Pass
from irscope.model.frozen_value import FrozenValue
from irscope.model.stage import pass_language, pass_name, pass_options
from irscope.model.text import pluralize

# How many opcodes and layouts a summary names; the diff has all of them.
_MOST_OPCODES, _MOST_LAYOUTS = 4, 2
# Aligning this many operations takes half a second; TTGIR has fewer, the LLVM dialect up to 14,000.
_LARGE = 4_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PassModule(FrozenValue):
    """A module between two passes; `language` is its name in the stage table."""

    artifact: Artifact
    language: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PassStep(FrozenValue):
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
    failed: bool = False

    @property
    def changed(self) -> bool:
        """Whether it changed the module."""
        return self.before != self.after


# The parsed text of a module.
Documents = Callable[[PassModule], Document]


def documents(content: Callable[[Artifact], bytes], most: int = 128) -> Documents:
    """Reads modules with `content` and parses them; caches the `most` last used."""

    @lru_cache(maxsize=most)
    def document(module: PassModule) -> Document:
        return parse(content(module.artifact).decode("utf-8", "replace"), module.language)

    return document


def steps(passes: Sequence[Pass]) -> list[PassStep]:
    """The passes of a variant with the modules before and after each, in order.

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
    """The diff of a pass; None if it changed nothing or translated the module to another language."""
    if step.before is None or step.after is None or not step.changed:
        return None
    if step.before.language != step.after.language:
        return None
    return diff_stage(step.stage, document(step.before), document(step.after))


def summary(step: PassStep, document: Documents) -> str:
    """The changes of a pass in one line: operations added and removed, layouts, attributes."""
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
    diff = diff_stage(step.stage, before, after)
    return ", ".join([*opcodes, *_layouts(diff)] or _others(diff))


def large(before: Document, after: Document) -> bool:
    """Whether aligning two modules takes too long; their opcodes say as much."""
    return len(before.operations) + len(after.operations) > _LARGE


def opcode_changes(before: Document, after: Document) -> list[str]:
    """The change in the number of each operation, the largest first."""
    net = Counter(operation.opcode for operation in after.operations)
    net.subtract(operation.opcode for operation in before.operations)
    moved = sorted((opcode for opcode in net if net[opcode]), key=lambda opcode: (-abs(net[opcode]), opcode))
    parts = [f"{net[opcode]:+,} {opcode}" for opcode in moved[:_MOST_OPCODES]]
    more = len(moved) - len(parts)
    return [*parts, f"{more} more"] if more else parts


def _layouts(diff: StageDiff) -> list[str]:
    """The layouts that are new or changed."""
    parts = []
    for change in diff.layouts:
        if change.left is None and change.right is not None:
            parts.append(f"new {change.right.alias} {change.right.kind}")
        elif change.left is not None and change.right is not None:
            parts.append(describe_layout(change))
    more = len(parts) - _MOST_LAYOUTS
    return [*parts[:_MOST_LAYOUTS], f"{more} more layouts"] if more > 0 else parts


def _others(diff: StageDiff) -> list[str]:
    """The other changes, if no operation and no layout is new."""
    if diff.equal:
        return ["only names and locations"]
    added = diff.counts.get(Change.ADDED, 0)
    if added and added == diff.counts.get(Change.REMOVED):
        return [f"{added:,} moved"]
    return [summarize(diff).removeprefix("0 added, 0 removed, ")]


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
        index = None if line is None else document.operation_of_line.get(line)
        if index is not None and (location := document.operations[index].location) is not None:
            yield location.outermost.line


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PassEvent(FrozenValue):
    """The change of a pass to one operation; `line` is its line after the pass, counted from 0."""

    step: PassStep
    change: Change
    line: int


def history(through: Sequence[PassStep], stage: str, line: int, document: Documents) -> list[PassEvent]:
    """The passes that touched the operation at `line` of the output of `stage`, in the order they ran.

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
