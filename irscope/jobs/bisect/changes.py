"""The diff of what the step at fault makes on either side, and the lines of Python that it comes from.

How the source and the settings of a kernel differ between two commits, in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from irscope.diff.rows import Row, StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.facts.source.map import SourcePlace, kernel_place, python_lines
from irscope.findings.python_edit_text import describe
from irscope.findings.python_edits import edits
from irscope.jobs.bisect.attribution import LayerResult, Pair
from irscope.jobs.bisect.compiling import CompiledVariant
from irscope.jobs.bisect.layer_swap import Cut, Mixer
from irscope.jobs.bisect.pass_search import PassResult, PassSearch
from irscope.languages.document import Document
from irscope.languages.language import parse
from irscope.model import Kernel, SourceFunction, UserError, Variant, format_value
from irscope.model.records import frozen
from irscope.model.text import base_name
from irscope.targets import stages_for

_MOST_PYTHON = 5
# Aligning more lines than this takes seconds.
_MOST_LINES = 60_000


@frozen
class PythonPlace:
    """A line of the kernel's file, its text, and how many changed operations come from it."""

    file: str
    line: int
    text: str
    operations: int


@dataclass(frozen=True)
class Changes:
    """The diff of what the step at fault made on either side.

    `inputs` says what it was given: the same text on both sides, or each side's own.
    """

    stage: str
    inputs: str
    diff: StageDiff
    python: tuple[PythonPlace, ...]


def changes_of(
    pair: Pair, layers: LayerResult, mixer: Mixer, search: PassSearch | None, found: PassResult | None
) -> Changes | str:
    """Return the changes in the step at fault, or why they cannot be shown; "" if no step was located."""
    span = layers.located.span
    if span is None:
        return ""
    changes = None if search is None or found is None else _of_pass(pair, mixer, search, found)
    if changes is not None:
        return changes
    left, right, inputs = _from_one_input(pair, mixer, layers.cuts[span.first].name)
    variant, made = pair.good.compiled.variant, layers.cuts[span.last].name
    # Machine code is shown as its disassembly.
    stages = stages_for(variant.target.backend)
    stage = next((stage.name for stage in stages if stage.derived_from == made), made)
    try:
        documents = [compiled.workspace.document(compiled.variant, stage) for compiled in (left, right)]
    except UserError as error:
        return str(error)
    return _changes(stage, inputs, documents[0], documents[1], variant.kernel)


def _from_one_input(pair: Pair, mixer: Mixer, before: str) -> tuple[CompiledVariant, CompiledVariant, str]:
    """Build one text of a stage with both sides, and say which; their own builds if none is accepted."""
    if before not in pair.good.compiled.stages:
        return pair.good.compiled, pair.bad.compiled, "the same Python"
    for end in (pair.good, pair.bad):
        cut = Cut(before, end.compiled.text(before))
        made = [mixer.build(end.compiled, cut, side) for side in (pair.good.side, pair.bad.side)]
        if all(one.variant.failure is None for one in made):
            return made[0], made[1], f"the {before} of {end.side.label}, given to both"
    return pair.good.compiled, pair.bad.compiled, f"each side's own {before}"


def _of_pass(pair: Pair, mixer: Mixer, search: PassSearch, found: PassResult) -> Changes | str | None:
    """Return the diff of a pass on the good module before it, by both sides; None if it cannot be had."""
    cuts = search.boundary_of(found)
    if cuts is None:
        return None
    texts = [
        mixer.only_passes(end.compiled, cut, end.side)
        for end, cut in zip((pair.good, pair.bad), cuts, strict=True)
    ]
    if texts[0] is None or texts[1] is None:
        return None
    left, right = (parse(text, "mlir") for text in texts if text is not None)
    inputs = f"the module before the pass of {pair.good.side.label}, given to both"
    return _changes(cuts[0].inside, inputs, left, right, pair.good.compiled.variant.kernel)


def _changes(stage: str, inputs: str, left: Document, right: Document, kernel: Kernel) -> Changes | str:
    if max(len(left.lines), len(right.lines)) > _MOST_LINES:
        return f"the {stage} of both sides is too large to compare"
    diff = diff_stage(stage, left, right)
    return Changes(stage, inputs, diff, changed_python(diff, kernel))


def changed_python(diff: StageDiff, kernel: Kernel) -> tuple[PythonPlace, ...]:
    """Return the lines of the kernel that most changed operations come from."""
    counts = Counter(place for row in diff.rows if row.change for place in _places(diff, row))
    texts = {line.place: line.text for line in python_lines(kernel) if line.place is not None}
    return tuple(
        PythonPlace(place.file_name, place.line, texts.get(place, "").strip(), number)
        for place, number in counts.most_common(_MOST_PYTHON)
    )


def _places(diff: StageDiff, row: Row) -> Iterator[SourcePlace]:
    found = []
    for document, line in ((diff.left, row.left), (diff.right, row.right)):
        index = None if line is None else document.operation_of_line.get(line)
        place = None if index is None else kernel_place(document.operations[index].location)
        if place is not None:
            found.append(place)
    yield from dict.fromkeys(found)


_MOST = 20


@frozen
class SourceEdit:
    """One edit: the function, the line after it (before it if the statement is gone), and what changed."""

    function: str
    file: str
    line: int
    text: str


def source_edits(good: Variant, bad: Variant) -> list[SourceEdit]:
    """Return the edits of the kernel, of the functions that it calls, and of its settings."""
    found = [*_settings(good, bad), *_functions(good, bad)]
    return found[:_MOST]


def _functions(good: Variant, bad: Variant) -> Iterator[SourceEdit]:
    before = {function.name: function for function in (*good.kernel.helpers, good.kernel.source)}
    for function in (bad.kernel.source, *bad.kernel.helpers):
        old = before.get(function.name)
        if old is None:
            yield _edit(function, function.line, "new function that the kernel calls")
        elif old.text != function.text:
            yield from _edits(old, function)
    names = {function.name for function in (bad.kernel.source, *bad.kernel.helpers)}
    gone = (function for name, function in before.items() if name not in names)
    yield from (_edit(function, function.line, "no longer called") for function in gone)


def _edits(old: SourceFunction, new: SourceFunction) -> Iterator[SourceEdit]:
    found = edits(old.text, old.line, new.text, new.line)
    for edit in found:
        statement = edit.after or edit.before
        if statement is not None:
            yield _edit(new, statement.line, "; ".join(map(str, describe(edit))))
    if not found and _header(old) != _header(new):
        yield _edit(new, new.line, "its signature or decorators differ")


def _header(function: SourceFunction) -> str:
    return function.text.partition(":\n")[0]


def _edit(function: SourceFunction, line: int, text: str) -> SourceEdit:
    return SourceEdit(function.name, base_name(function.file), line, text)


def _settings(good: Variant, bad: Variant) -> Iterator[SourceEdit]:
    """Config values, argument types and globals that differ."""
    before, after = _values(good), _values(bad)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, "unset"), after.get(name, "unset")
        if was != now:
            yield _edit(bad.kernel.source, bad.kernel.source.line, f"{name}: {was} -> {now}")


def _values(variant: Variant) -> dict[str, str]:
    values = {argument.name: str(argument) for argument in variant.specialization}
    values |= {name: format_value(value) for name, value in variant.config.values}
    return values | {name: text for name, text in variant.cache_key.items() if name.startswith("global ")}
