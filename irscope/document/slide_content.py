"""The content of `irscope report --slides`, before any format: the story of a capture, kernel by kernel."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from irscope.document.report_content import CaptureReport, pair_title, report_sections
from irscope.model import UserError, Variant
from irscope.model.kernel_timeline import KernelTimeline
from irscope.workspace import (
    ColorBy,
    Comparison,
    DrawingOptions,
    Evidence,
    FactKind,
    Finding,
    Grid,
    LayoutComparison,
    PythonSource,
    RowSide,
    StageDiff,
    TableSection,
    TextLine,
    ValuePair,
    Verdict,
    Workspace,
)
from irscope.workspace.diff_rows import row_sides
from irscope.workspace.opening import opening_pair
from irscope.workspace.timeline_text import pair_timelines
from irscope.workspace.variant_registers import CompileTimeInput, compile_time_inputs
from irscope.workspace.verdict import finding_point
from irscope.workspace.why_lines import compilation_lines, reason_lines

# Facts that a question asks for if they differ, the most surprising first.
_ASKED = (
    "registers", "occupancy", "stack", "shared", "matrix", "load_width", "global_loads", "blocks_per_sm",
    "pipeline_depth", "loop_instructions",
)  # fmt: skip
_MOST_ASKED = 5
# Findings that get a slide with their lines, and the lines of one side.
_MOST_EXCERPTS, _MOST_LINES = 2, 4
# The cells of a drawing of a layout that can be read from the last row of a room.
_ROWS, _COLUMNS = 16, 32


@dataclass(frozen=True)
class FindingExcerpt:
    """The lines of a stage that prove a finding, in A and in B, with the line of Python they come from.

    `more` are the numbers of lines that are not shown.
    """

    finding: Finding
    stage: str
    python: str
    number: int | None
    sides: tuple[Sequence[RowSide], Sequence[RowSide]]
    more: tuple[int, int]


@dataclass(frozen=True)
class LayoutContent:
    """A value whose layout differs, how it differs in a sentence, and its drawing in A and in B."""

    name: str
    difference: str
    grids: Sequence[Grid]
    sentences: Sequence[str]


@dataclass(frozen=True)
class PairContent:
    """A and B.

    `asked` are facts that differ: the kind, and its text in A and B. `stages` are the compared stages, each
    with the label of its diff and whether it differs. `layout` is None without a layout that differs;
    `no_layout` says why, if layouts could not be compared. `timelines` are those of A and of B, if one has a
    pipelined loop.
    """

    comparison: Comparison
    title: str
    verdicts: tuple[Verdict, Verdict]
    asked: Sequence[tuple[FactKind, str, str]]
    stages: Sequence[tuple[str, str, bool]]
    reasons: Sequence[TextLine]
    findings: Sequence[Finding]
    more: int
    excerpts: Sequence[FindingExcerpt]
    layout: LayoutContent | None
    no_layout: str
    timelines: Sequence[KernelTimeline]

    @property
    def sides(self) -> tuple[tuple[str, Variant], tuple[str, Variant]]:
        """Return the variants with their letters."""
        return ("A", self.comparison.a), ("B", self.comparison.b)

    @property
    def first(self) -> str:
        """Return a sentence on the first stage that differs in more than shapes, or "" if none does."""
        return next((finding.text for finding in self.comparison.findings if finding.kind == "stages"), "")


def pair_content(workspace: Workspace, a: Variant, b: Variant) -> PairContent:
    """Everything that the slides show about two variants. Raises UserError if a stage is damaged."""
    pair = workspace.compare(a, b)
    stages = [(name, diff.label, not diff.equal) for name, diff in pair.stages.items()]
    findings = [finding for finding in pair.main_findings if not finding.declared.whole]
    layout, no_layout = _layout(pair)
    return PairContent(
        comparison=pair,
        title=pair_title(pair),
        verdicts=(workspace.verdict(a), workspace.verdict(b, a)),
        asked=list(_asked(pair))[:_MOST_ASKED],
        stages=stages,
        reasons=[] if pair.single else reason_lines(pair)[1:],
        findings=findings,
        more=len(pair.findings) - len(pair.main_findings),
        excerpts=list(_excerpts(pair, findings))[:_MOST_EXCERPTS],
        layout=layout,
        no_layout=no_layout,
        timelines=pair_timelines(pair),
    )


def _asked(pair: Comparison) -> Iterator[tuple[FactKind, str, str]]:
    of_a, of_b = pair.facts
    for fact in (of_b[name] for name in _ASKED if name in of_a and name in of_b):
        kind, a, b = fact.kind, of_a[fact.kind.name].value, fact.value
        if a is not None and b is not None and a != b:
            yield kind, kind.format(a), kind.format(b)


def _excerpts(pair: Comparison, findings: Sequence[Finding]) -> Iterator[FindingExcerpt]:
    for finding in findings:
        stages = [
            {line.stage for line in evidence}
            for evidence in (finding.evidence_a, finding.evidence_b)
            if evidence
        ]
        both = set.intersection(*stages) & pair.stages.keys() if len(stages) == 2 else set()
        for stage in [name for name in pair.stages if name in both][:1]:
            yield _excerpt(pair, finding, pair.stages[stage])


def _excerpt(pair: Comparison, finding: Finding, diff: StageDiff) -> FindingExcerpt:
    stage = diff.stage
    lines = _lines(finding.evidence_a, stage), _lines(finding.evidence_b, stage)
    sides: tuple[list[RowSide], list[RowSide]] = ([], [])
    for row in diff.rows:
        if row.left not in lines[0] and row.right not in lines[1]:
            continue
        for side_rows, side, side_lines in zip(sides, row_sides(diff, row), lines, strict=True):
            if side is not None and side.number - 1 in side_lines:
                side_rows.append(side)
    line = finding_point(pair, finding).line
    numbered = zip(
        PythonSource.of_variant(pair.b).numbers, PythonSource.of_variant(pair.b).texts, strict=True
    )
    text = next((text.strip() for number, text in numbered if line and number == line), "")
    left, right = sides
    more = max(0, len(left) - _MOST_LINES), max(0, len(right) - _MOST_LINES)
    return FindingExcerpt(finding, stage, text, line, (left[:_MOST_LINES], right[:_MOST_LINES]), more)


def _lines(evidence: Sequence[Evidence], stage: str) -> frozenset[int]:
    return frozenset(line.line for line in evidence if line.stage == stage)


def _layout(pair: Comparison) -> tuple[LayoutContent | None, str]:
    """Return the layout that the findings name, or else the most notable; or why there is none."""
    try:
        layouts = LayoutComparison(pair)
    except UserError as error:
        return None, str(error)
    named = [finding.subject for finding in pair.findings if finding.kind == "layout" and finding.changes]
    named_values = [layouts.values[layouts.find([name], True)] for name in named]
    for value in (*named_values, *layouts.notable(len(layouts.values))):
        if value.a is not None and value.b is not None and len(value.a.shape) > 1 and min(value.a.shape) > 1:
            return _drawn(layouts, value), ""
    return None, "no layout of a matrix differs"


def _drawn(layouts: LayoutComparison, value: ValuePair) -> LayoutContent:
    """Draw a map with a glyph per cell: by thread if rows of threads differ, else by warp or bank."""
    choices, shapes = layouts.color_choices(value), layouts.shapes(value)
    blocked = value.tensor.attribute.kind.endswith("blocked")
    by = ColorBy.THREAD if blocked and ColorBy.THREAD in choices else (choices or (None,))[0]
    rows = max(shape[-2] for shape in shapes) if by is ColorBy.THREAD else _ROWS
    options = DrawingOptions().as_map(shapes, rows, _COLUMNS, by)
    drawings = layouts.draw(value, options)
    sentences = list(dict.fromkeys(sentence for drawing in drawings for sentence in drawing.sentences[:1]))
    if drawings[0].sentences[:1] != drawings[1].sentences[:1]:
        sentences = []
    grids = [_first_rows(drawing.grid) for drawing in drawings]
    return LayoutContent(value.name, layouts.difference(value), grids, sentences)


def _first_rows(grid: Grid) -> Grid:
    """Return the grid without the rows that a slide has no room for."""
    if len(grid.rows) <= _ROWS:
        return grid
    notes = (f"The first {_ROWS} of {len(grid.rows)} rows.",)
    return replace(grid, rows=grid.rows[:_ROWS], cells=grid.cells[:_ROWS], notes=notes)


# Chapters of a talk, and configs named in one sentence.
_MOST_CHAPTERS = 3
_MOST_NAMED = 4


@dataclass(frozen=True)
class Chapter:
    """A kernel for one target.

    `shown` is the variant whose source is shown, `verdicts` are those of the first pair; `inputs` is what is
    fixed at compile time, `compiled` how often the kernel was compiled in the capture, and for how long.
    `advice` says what to do, a sentence each.
    """

    section: TableSection
    shown: Variant
    verdicts: Sequence[Verdict]
    inputs: Sequence[CompileTimeInput]
    compiled: str
    pairs: Sequence[PairContent]
    advice: Sequence[str]

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on the variant that is shown."""
        return self.verdicts[-1]

    @property
    def compared(self) -> dict[int, str]:
        """Return the letter of each variant of the first pair, by id."""
        return {variant.id: letter for pair in self.pairs[:1] for letter, variant in pair.sides}


@dataclass(frozen=True)
class SlideDeck:
    """The chapters of a talk; `left_out` are the tables of the capture without a chapter."""

    report: CaptureReport
    chapters: Sequence[Chapter]
    left_out: Sequence[TableSection]


def slide_deck(
    workspace: Workspace,
    pairs: Sequence[tuple[str, str]] | None = None,
    kernel: str | None = None,
    target: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> SlideDeck:
    """Return the slides of a capture.

    `pairs` are the names of two variants each; None: per kernel, the pair that the app opens with.
    `kernel` and `target` select the kernels (None: all); `progress` receives the number of the
    chapter, and how many there are. Raises UserError if a name matches nothing.
    """
    sections = report_sections(workspace, kernel, target)
    chosen = _chosen(workspace, sections, pairs)
    chapters = []
    for number, (section, section_pairs) in enumerate(chosen, 1):
        progress(number, len(chosen))
        chapters.append(_chapter(workspace, section, section_pairs))
    report = CaptureReport(workspace.path.name, sections, ())
    used = [id(section) for section, _ in chosen]
    return SlideDeck(report, chapters, [section for section in sections if id(section) not in used])


_Pairs = list[tuple[Variant, Variant]]


def _chosen(
    workspace: Workspace, sections: Sequence[TableSection], named: Sequence[tuple[str, str]] | None
) -> list[tuple[TableSection, _Pairs]]:
    """Return the tables that get a chapter, with the pairs to compare.

    They are the tables of the pairs in `named`, or else the first ones.
    """
    if named is None:
        return [(section, _opening(section)) for section in sections[:_MOST_CHAPTERS]]
    pairs_by_section: dict[int, _Pairs] = {}
    for a, b in ((workspace.variant(a), workspace.variant(b)) for a, b in named):
        index = next((n for n, section in enumerate(sections) if _has(section, b)), None)
        if index is None:
            raise UserError(f"#{b.id} is not among the variants that --kernel and --target select")
        pairs_by_section.setdefault(index, []).append((a, b))
    return [(sections[index], pairs) for index, pairs in sorted(pairs_by_section.items())]


def _has(section: TableSection, variant: Variant) -> bool:
    return any(row.id == variant.id for row in section.variants)


def _opening(section: TableSection) -> _Pairs:
    """Return the pair that the app opens with, or none if there is only one variant."""
    pair = opening_pair(section.variants, section.facts)
    return [pair] if pair and pair[0].id != pair[1].id else []


def _chapter(workspace: Workspace, section: TableSection, pairs: _Pairs) -> Chapter:
    compared = [pair_content(workspace, a, b) for a, b in pairs]
    source_variant = pairs[0][1] if pairs else section.variants[0]
    verdicts = compared[0].verdicts if compared else (workspace.verdict(source_variant),)
    return Chapter(
        section=section,
        shown=source_variant,
        verdicts=verdicts,
        inputs=compile_time_inputs(section.variants),
        compiled=_compiled(workspace, section),
        pairs=compared,
        advice=list(_advice(workspace, section, verdicts)),
    )


def _compiled(workspace: Workspace, section: TableSection) -> str:
    section_kernels = [kernel for kernel in workspace.compilations() if kernel.kernel == section.kernel]
    return next((line.text for line in compilation_lines(section_kernels)), "")


def _advice(workspace: Workspace, section: TableSection, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Advice on the configs of a table: drop, change, measure."""
    facts = section.facts
    if launchless := [variant for variant in section.variants if facts.problem(variant)]:
        yield f"Drop {_named(launchless)}: {facts.problem(launchless[0])}"
    usable = [variant for variant in section.variants if not facts.problem(variant)]
    if same := [variant for variant in usable if facts.duplicate_of(variant) is not None]:
        firsts = ", ".join(dict.fromkeys(f"#{facts.duplicate_of(v)}" for v in same[:_MOST_NAMED]))
        yield f"Do not measure {_named(same)}: identical machine code to {firsts}"
    for verdict in verdicts:
        for remedy in verdict.remedies:
            yield f"#{verdict.variant.id}: {remedy}"
    yield from _measured_first(workspace, section)


def _named(variants: Sequence[Variant]) -> str:
    """`#3, #4, #5, #6 and 3 more`."""
    names = ", ".join(f"#{variant.id}" for variant in variants[:_MOST_NAMED])
    return names if len(variants) <= _MOST_NAMED else f"{names} and {len(variants) - _MOST_NAMED} more"


def _measured_first(workspace: Workspace, section: TableSection) -> Iterator[str]:
    """Yield the configs that are the most promising by estimate, if launches are known."""
    if not any(section.facts.column("estimate", section.variants)):
        return
    for pick in workspace.pick(glob.escape(section.kernel), section.target)[:1]:
        first = [choice for choice in pick.accepted if choice.estimate][:_MOST_NAMED]
        times = ", ".join(
            f"#{choice.variant.id} ({choice.estimate.text} us)" for choice in first if choice.estimate
        )
        if times:
            yield f"Measure first, by estimate for {pick.problem.text or 'the launch'}: {times}"
