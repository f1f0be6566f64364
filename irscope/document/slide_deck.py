"""The content of `irscope report --slides`, before any format: the story of a capture, kernel by kernel."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from irscope.document.report_content import CaptureReport, report_sections
from irscope.document.slide_pair import PairContent, pair_content
from irscope.model import UserError, Variant
from irscope.workspace import FactTable, TableEntry, TableSection, Verdict, Workspace, microseconds_text
from irscope.workspace.opening import opening_pair
from irscope.workspace.variant_registers import CompileTimeInput, compile_time_inputs
from irscope.workspace.why_lines import compilation_lines

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
    return any(entry.variant.id == variant.id for entry in section.entries)


def _opening(section: TableSection) -> _Pairs:
    """Return the pair that the app opens with, or none if there is only one variant."""
    facts = FactTable()
    for entry in section.entries:
        facts.add(entry.variant, entry.facts)
    pair = opening_pair([entry.variant for entry in section.entries], facts)
    return [pair] if pair and pair[0].id != pair[1].id else []


def _chapter(workspace: Workspace, section: TableSection, pairs: _Pairs) -> Chapter:
    compared = [pair_content(workspace, a, b) for a, b in pairs]
    source_variant = pairs[0][1] if pairs else section.entries[0].variant
    verdicts = compared[0].verdicts if compared else (workspace.verdict(source_variant),)
    return Chapter(
        section=section,
        shown=source_variant,
        verdicts=verdicts,
        inputs=compile_time_inputs([entry.variant for entry in section.entries]),
        compiled=_compiled(workspace, section),
        pairs=compared,
        advice=list(_advice(workspace, section, verdicts)),
    )


def _compiled(workspace: Workspace, section: TableSection) -> str:
    section_kernels = [kernel for kernel in workspace.compilations() if kernel.kernel == section.kernel]
    return next((line.text for line in compilation_lines(section_kernels)), "")


def _advice(workspace: Workspace, section: TableSection, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Advice on the configs of a table: drop, change, measure."""
    entries = section.entries
    if launchless := [entry for entry in entries if entry.problem]:
        yield f"Drop {_named(launchless)}: {launchless[0].problem}"
    if same := [entry for entry in entries if entry.duplicate_of is not None and not entry.problem]:
        firsts = ", ".join(dict.fromkeys(f"#{entry.duplicate_of}" for entry in same[:_MOST_NAMED]))
        yield f"Do not measure {_named(same)}: identical machine code to {firsts}"
    for verdict in verdicts:
        for remedy in verdict.remedies:
            yield f"#{verdict.variant.id}: {remedy}"
    yield from _measured_first(workspace, section)


def _named(entries: Sequence[TableEntry]) -> str:
    """`#3, #4, #5, #6 and 3 more`."""
    names = ", ".join(f"#{entry.variant.id}" for entry in entries[:_MOST_NAMED])
    return names if len(entries) <= _MOST_NAMED else f"{names} and {len(entries) - _MOST_NAMED} more"


def _measured_first(workspace: Workspace, section: TableSection) -> Iterator[str]:
    """Yield the configs that are the most promising by estimate, if launches are known."""
    if not any(entry.value("estimate") is not None for entry in section.entries):
        return
    for pick in workspace.pick(glob.escape(section.kernel), section.target)[:1]:
        first = [choice for choice in pick.accepted if choice.estimate][:_MOST_NAMED]
        times = ", ".join(
            f"#{choice.variant.id} ({microseconds_text(choice.estimate.microseconds)} us)"
            for choice in first
            if choice.estimate
        )
        if times:
            yield f"Measure first, by estimate for {pick.problem.text or 'the launch'}: {times}"
