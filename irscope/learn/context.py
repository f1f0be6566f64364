"""A variant of an open capture, as the text of a lesson refers to it.

Texts that a lesson quotes in addition to the stages: Python source, compiler output, other commands.

A tile in shared memory as a lesson draws it: the bank of each 16 bytes, and the wavefronts of a read.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from irscope.document.terminal.document_text import text_lines
from irscope.document.timeline_content import timeline_content
from irscope.learn.lesson import LessonStep
from irscope.model import UserError, Variant
from irscope.model.records import frozen
from irscope.workspace import (
    DrawingOptions,
    Fact,
    Grid,
    Language,
    LintResult,
    TextLine,
    VariantLayouts,
    Window,
    Workspace,
)
from irscope.workspace.bits import ProblemBits, bit_classes
from irscope.workspace.estimate_text import estimate_lines
from irscope.workspace.variant_texts import check_stage
from irscope.workspace.why_lines import compilation_lines, pair_lines, without_rest

# The width of a timeline.
_COLUMNS = 100
# As many as ldmatrix reads at once.
_ROWS = (0, 8)


def tile_text(capture: Workspace, variant: Variant, swizzle: bool) -> str:
    """Draw the first rows of the first tile that `ttg.local_load` reads, and that access's banks.

    The tile has its swizzle, or is drawn as if it had none. Raises UserError if the variant reads
    no tile.
    """
    layouts = VariantLayouts(capture, variant)
    read = next((access for access in layouts.accesses if access.access.opcode == "ttg.local_load"), None)
    if read is None:
        raise UserError(f"#{variant.id} reads no tile from shared memory")
    tile = layouts.draw(read.access.buffer, DrawingOptions(Window(_ROWS), swizzle=swizzle)).grid
    banks = layouts.draw_access(read, swizzle).grid
    return "".join(f"{line}\n" for line in (*_lines(tile), "", *_lines(banks)))


def _lines(grid: Grid) -> Iterator[str]:
    """Yield the cells with the labels of rows and columns."""
    width = max(len(cell.label) for row in grid.cells for cell in row if cell)
    width = max(width, *map(len, grid.columns))
    margin = max(map(len, grid.rows))
    yield f"{'':{margin}} {' '.join(f'{label:{width}}' for label in grid.columns)}".rstrip()
    for name, row in zip(grid.rows, grid.cells, strict=True):
        cells = " ".join(f"{cell.label if cell else '.':{width}}" for cell in row)
        yield f"{name:>{margin}} {cells}".rstrip()


@frozen
class Extra:
    """A text about a variant B, compared with A if the text is about a pair.

    `text` takes B and then A. `caption` introduces a quotation, `language` highlights it. `shared` is true
    if all variants of a kernel have the same text.
    """

    text: Callable[[Workspace, Variant, Variant], str]
    caption: str
    language: str = "text"
    shared: bool = False


def _kernel(_: Workspace, variant: Variant) -> str:
    return variant.kernel.source.text


def _file(_: Workspace, variant: Variant) -> str:
    with tokenize.open(variant.kernel.source.file) as file:
        return file.read()


def _output(_: Workspace, variant: Variant) -> str:
    return variant.output


def _layout(capture: Workspace, variant: Variant) -> str:
    return "".join(f"{line}\n" for line in _layout_lines(capture, variant))


def _layout_lines(capture: Workspace, variant: Variant) -> Iterator[str]:
    """Yield each access to shared memory and each layout conversion, with its cost."""
    layouts = capture.layouts(variant)
    for access in layouts.accesses:
        cost = access.conflicts.text if access.conflicts else access.why_not
        yield f"{access.access.opcode} of line {access.access.line}, {access.access.buffer.type}: {cost}"
        if access.plain:
            yield f"    without the swizzle: {access.plain.ways_text}"
    for conversion in layouts.conversions:
        cost = conversion.cost.value if conversion.cost else conversion.why_not
        both = f"{conversion.source.alias} -> {conversion.target.alias}"
        yield f"ttg.convert_layout of line {conversion.line}, {both}: {cost}"


def _lint(capture: Workspace, variant: Variant) -> str:
    name = Path(variant.kernel.source.file).name
    diagnostics = LintResult.of_source(_file(capture, variant), name)
    return "".join(
        f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column}: {diagnostic.rule.code} "
        f"{diagnostic.rule.name}: {diagnostic.message}\n    {diagnostic.fix}\n"
        for diagnostic in diagnostics
    )


def _estimate(capture: Workspace, variant: Variant) -> str:
    lines = estimate_lines(capture.estimate(variant))
    texts = ([line.text, *([f"    {line.detail}"] if line.detail else [])] for line in lines)
    return "".join(f"{text}\n" for line_texts in texts for text in line_texts)


def _why(capture: Workspace, b: Variant, a: Variant) -> str:
    return _laid_out(without_rest(pair_lines(capture.compare(a, b))))


def _compilations(capture: Workspace, variant: Variant) -> str:
    """Return why the variant's kernel was compiled, in the whole capture."""
    kernels = (
        compiled_kernel
        for compiled_kernel in capture.compilations()
        if compiled_kernel.kernel == variant.kernel.name
    )
    return _laid_out(compilation_lines(kernels))


def _bits(capture: Workspace, b: Variant, a: Variant) -> str:
    """Say whether two variants compute the same bits at their launch, and which lines decide."""
    pair = [a] if a.id == b.id else [a, b]
    answers = bit_classes(capture, pair, reference=a)
    return "".join(f"{line}\n" for answer in answers for line in _bits_lines(answer))


def _bits_lines(answer: ProblemBits) -> Iterator[str]:
    for number, why in answer.unknown.items():
        yield f"#{number} is unknown: {why}"
    if len(answer.classes) == 1:
        yield "A and B compute the same bits"
    for difference in answer.from_first:
        yield "A and B compute different bits"
        for reason in difference.reasons:
            yield answer.place(reason)
            yield from (f"    {part}" for part in reason.text.split("; "))


def _timeline(capture: Workspace, *variants: Variant) -> str:
    """Draw the main loop in time; that of two variants on one scale."""
    timelines = [capture.kernel_timeline(variant) for variant in variants]
    headings = [capture.names[variant.id] for variant in variants]
    lines = text_lines(timeline_content(timelines, headings, _COLUMNS), _COLUMNS)
    return "".join(f"{line}\n" for line in lines)


def _laid_out(lines: Iterable[TextLine]) -> str:
    return "".join(f"{'  ' * line.level}{line.text}\n" for line in lines)


def _alone(text: Callable[[Workspace, Variant], str]) -> Callable[[Workspace, Variant, Variant], str]:
    """Return a text that is about one variant, whatever it is compared with."""
    return lambda capture, variant, _: text(capture, variant)


EXTRAS = {
    "why": Extra(_why, "irscope why"),
    "bits": Extra(_bits, "irscope bits"),
    "compilations": Extra(_alone(_compilations), "irscope why", shared=True),
    "python": Extra(_alone(_kernel), "The kernel", "python", shared=True),
    "file": Extra(_alone(_file), "The file", "python", shared=True),
    "timeline": Extra(_alone(_timeline), "irscope timeline"),
    "timelines": Extra(lambda capture, b, a: _timeline(capture, a, b), "irscope timeline A B", shared=True),
    "output": Extra(_alone(_output), "output"),
    "estimate": Extra(_alone(_estimate), "irscope pick --explain"),
    "layout": Extra(_alone(_layout), "irscope layout"),
    "tile": Extra(_alone(partial(tile_text, swizzle=True)), "shared memory with the swizzle"),
    "plain_tile": Extra(_alone(partial(tile_text, swizzle=False)), "shared memory without a swizzle"),
    "lint": Extra(_alone(_lint), "irscope lint", shared=True),
}


@frozen
class LessonContext:
    """A variant of a lesson's capture, compared with `against` (the same if None).

    `stage` may also name one of the EXTRAS.
    """

    capture: Workspace
    variant: Variant
    against: Variant | None = None

    @property
    def name(self) -> str:
        """Return the variant's short name."""
        return self.capture.names[self.variant.id]

    @property
    def facts(self) -> Mapping[str, Fact]:
        """Return the variant's facts, by name; those of its estimate too if it was launched."""
        facts = self.capture.facts(self.variant)
        return {**facts, **self.capture.estimates.facts(self.variant)} if self.variant.launches else facts

    def text(self, stage: str) -> str:
        """Return the text of a stage or extra. Raises OSError if an extra needs a file that is gone."""
        if extra := EXTRAS.get(stage):
            return extra.text(self.capture, self.variant, self.against or self.variant)
        return self.capture.text(self.variant, stage)

    def lines(self, stage: str) -> list[str]:
        """Return the lines of a stage without source locations."""
        return Language.named(language_of(stage)).without_debug(self.text(stage)).splitlines()

    def count(self, stage: str, pattern: str) -> int:
        """Count the lines of a stage that match a regular expression."""
        return sum(1 for line in self.lines(stage) if re.search(pattern, line))


def language_of(stage: str) -> str:
    """Return the language of a stage or extra, or "" if it is binary."""
    if extra := EXTRAS.get(stage):
        return extra.language
    return check_stage(stage).language or ""


def contexts_of(step: LessonStep, capture: Workspace) -> tuple[LessonContext, LessonContext]:
    """Return the two variants of a step. Raises UserError if the capture lacks one."""
    a, b = capture.variant(step.a), capture.variant(step.b)
    return LessonContext(capture, a, b), LessonContext(capture, b, a)
