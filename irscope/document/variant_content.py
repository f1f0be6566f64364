"""Verdict, registers and layouts of a variant, glossary entries, lint and versions, before any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irscope.document.blocks import Block, Line, Table, title, variant_name
from irscope.model import Variant
from irscope.model.files import relative_file
from irscope.model.records import grouped
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from irscope.glossary.glossary import GlossaryEntry
    from irscope.workspace import (
        AccessConflicts,
        LintResult,
        RegisterReport,
        SourceLine,
        SpilledValue,
        Tensor,
        VariantLayouts,
        Verdict,
    )
    from irscope.workspace.timeline import VersionSummary
    from irscope.workspace.verdict import KeyPoint, PairVerdict
    from irscope.workspace.version_bits import VersionBits

NO_REMEDY = "try: no remedy is known; findings, lint rules and the other variants suggest none"


def verdict_content(verdict: Verdict) -> Iterator[Block]:
    """Yield a verdict."""
    yield variant_name(verdict.variant, verdict.name)
    if verdict.problem:
        yield Line(verdict.problem, 1)
    elif verdict.launchable:
        yield Line("can be launched", 1)
    used = ", ".join(resource.text for resource in verdict.resources)
    if verdict.occupancy is not None:
        limited = f", limited by {verdict.limiter}" if verdict.limiter else ""
        used += f"; occupancy {round(verdict.occupancy * 100, 1):g}%{limited}"
    if used:
        yield Line(used, 1)
    if verdict.variant.failure is None:
        yield Line(verdict.bound, 1)
    yield from _points(verdict.points, verdict.more)
    if not verdict.remedies:
        yield Line(NO_REMEDY, 1)
    yield from (Line(f"{remedy} [{remedy.basis}]", 1) for remedy in verdict.remedies)
    if verdict.pair is not None:
        yield from _pair(verdict.pair)


def _pair(pair: PairVerdict) -> Iterator[Line]:
    yield Line(f"B, compared with A = #{pair.against.id} {pair.name}: {pair.change or 'equal config'}")
    if pair.duplicate:
        yield Line("the machine code is identical: measure only one", 1)
    if pair.bits_text:
        yield Line(pair.bits_text, 1)
    yield from _points(pair.points, pair.more)
    if pair.estimate and not any(point.kind == "estimate" for point in pair.points):
        yield Line(pair.estimate, 1)


def _points(points: Sequence[KeyPoint], more: int) -> Iterator[Line]:
    for number, point in enumerate(points, 1):
        line = f"line {point.line}" if point.line and f"line {point.line}" not in point.text else ""
        locations = ", ".join(part for part in (line, point.stage_line) if part)
        yield Line(f"{point.text}{f' ({locations})' if locations else ''}", 1, number)
    if more:
        yield Line(pluralize(more, "more finding"), 1)


_MOST_LINES = 3


def registers_content(variant: Variant, name: str, report: RegisterReport, most: int) -> Iterator[Block]:
    """Yield the peak, the values live there, TTGIR's tensors, and the spills; at most `most` of each."""
    name = f"#{variant.id} {name}  {variant.kernel.name}  {variant.target}"
    yield title(name)
    yield Line(_peak(report), fit="cut")
    if report.values:
        heading = f"Live there, by the line that computed them ({report.stage})"
        yield Line(heading, gap=True, fit="cut")
        values = [_value(report, index) for index in range(min(most, len(report.values)))]
        yield Table.from_rows(values, (), ">><<", (5, 4), level=1)
        yield from _more(len(report.values) - most)
    if report.tensors:
        needed = pluralize(report.tensor_registers, "register")
        where = f"Tensors that are live where ttgir needs most, {_place(report.tensor_place)}"
        yield Line(f"{where}: {needed} per thread", gap=True, fit="cut")
        tensors = [
            (str(live.tensor.registers), f"{live.text} ({live.tensor.layout})")
            for live in report.tensors[:most]
        ]
        yield Table.from_rows(tensors, (), "><", (5,), level=1)
        yield from _more(len(report.tensors) - most)
    if not report.estimate:
        text = "Spilled to local memory, by the line that computed it" if report.spills else "No spills"
        yield Line(text, gap=True, fit="cut")
        yield from (Line(_spill(spill), 1, fit="cut") for spill in report.spills[:most])
        yield from _more(len(report.spills) - most)


def _peak(report: RegisterReport) -> str:
    number = report.allocated
    allocated = f"{pluralize(number, 'register')} per thread" if number is not None else "Registers"
    if report.peak is None:
        return f"{allocated}; the live registers of {report.stage} are unknown"
    kind = f"{report.stage} needs about" if report.estimate else f"{report.stage} needs most,"
    loop = ", in a loop" if report.in_loop else ""
    line = f"{report.stage} line {report.stage_line + 1}"
    return f"{allocated}; {kind} {report.peak:g}, at {_place(report.place)}{loop} ({line})"


def _value(report: RegisterReport, index: int) -> tuple[str, str, str, str]:
    value = report.values[index]
    share = f"{value.registers / report.peak:.0%}" if report.peak else ""
    numbers = ", ".join(str(line.line) for line in value.lines[:_MOST_LINES] if line.line)
    lines = f"line {numbers}" if len(value.lines) == 1 else f"lines {numbers}"
    where = f"{lines}: {value.lines[0].text}" if numbers else "unknown line"
    return f"{value.registers:g}", share, value.name, where


def _spill(spill: SpilledValue) -> str:
    """`acc (line 31), 4 words: 4 stores at line 33; 12 loads, all in loops, at line 35`."""
    name = _place(spill.value, spill.value.name)
    stores = _accesses(spill.stores, "store", spill.loop_stores)
    loads = _accesses(spill.loads, "load", spill.loop_loads)
    return f"{name}, {pluralize(spill.words, 'word')}: {stores}; {loads}"


def _accesses(counts: Sequence[tuple[SourceLine, int]], noun: str, in_loops: int) -> str:
    """`12 loads, 8 in loops, at lines 35, 36`."""
    number = sum(count for _, count in counts)
    loops = "" if not in_loops else ", all in loops" if in_loops == number else f", {in_loops} in loops"
    lines = [str(line.line) for line, _ in counts if line.line]
    where = ", ".join(lines[:_MOST_LINES]) + (", ..." if len(lines) > _MOST_LINES else "")
    locations = f"{',' if loops else ''} at line{'s' if len(lines) > 1 else ''} {where}" if lines else ""
    return f"{pluralize(number, noun)}{loops}{locations}"


def _place(line: SourceLine | None, name: str = "") -> str:
    if line is None or not line.line:
        return "an unknown line"
    return f"{name} (line {line.line})" if name else f"line {line.line}"


def _more(number: int) -> Iterator[Line]:
    if number > 0:
        yield Line(f"{number} more", 1)


def layouts_content(
    variants: Sequence[VariantLayouts], written: Sequence[VariantLayouts | None]
) -> Iterator[Block]:
    """Yield the tensors, accesses to shared memory and layout conversions of each variant.

    `written` are the layouts of the same variants as Gluon kernels write them.
    """
    for layouts, first in zip(variants, written, strict=True):
        yield title(layouts.title)
        if first is not None:
            heading = f"Tensors as written ({first.stage}), the first of each variable, shape and layout"
            yield Line(heading, gap=True)
            yield _tensors(_by_layout(first.tensors))
        yield Line(f"Tensors as lowered ({layouts.stage})" if first is not None else "Tensors", gap=True)
        yield _tensors(layouts.tensors)
        if layouts.accesses:
            yield Line("Accesses to shared memory", gap=True)
            yield _shared_accesses(layouts.accesses)
        if layouts.kernel.conversions:
            yield Line("Layout conversions", gap=True)
        for conversion in layouts.kernel.conversions:
            how = conversion.cost.value if conversion.cost else conversion.why_not
            line = f"line {conversion.line}: " if conversion.line else ""
            yield Line(f"{line}{conversion.source.alias} -> {conversion.target.alias}: {how}", 1)


def layout_differences_content(heading: str, rows: Sequence[tuple[str, str]]) -> Iterator[Block]:
    """Yield the values whose layouts differ, and how each differs."""
    yield title(heading)
    yield Table.from_rows(rows, (), "<<", level=1)


def _by_layout(groups: Sequence[Sequence[Tensor]]) -> list[list[Tensor]]:
    """Join the groups that differ only in the element type.

    Gluon's front end checks integers for overflow, in i64 and i1, and no pass has removed that
    yet.
    """
    joined: dict[tuple[object, ...], list[Tensor]] = {}
    for group in groups:
        first = group[0]
        key = (first.python, first.kind, first.shape, first.key) if first.python else (first.key, first.name)
        joined.setdefault(key, []).extend(group)
    return list(joined.values())


def _tensors(groups: Sequence[Sequence[Tensor]]) -> Table:
    """Return a row per group of equal tensors."""
    rows = []
    for group in groups:
        first, more = group[0], len(group) - 1
        lines = dict.fromkeys(str(tensor.line) for tensor in group if tensor.line)
        name = first.name + (f" +{more}" if more else "")
        rows.append((name, first.python, ", ".join(lines), first.type))
    return Table.from_rows(rows, ["value", "variable", "lines", "type"], "<<<<", level=1)


def _shared_accesses(accesses: Sequence[AccessConflicts]) -> Table:
    """Return the accesses to shared memory, with their conflicts as compiled and without the swizzle."""
    rows = []
    for number, conflicts in enumerate(accesses, 1):
        access = conflicts.access
        real = conflicts.conflicts.text if conflicts.conflicts else conflicts.why_not
        plain = conflicts.plain.ways_text if conflicts.plain else ""
        name = access.opcode + (f" x{conflicts.times}" if conflicts.times > 1 else "")
        line = str(access.line) if access.line else ""
        rows.append((str(number), name, line, access.buffer.type, real, plain))
    headings = ["", "operation", "line", "buffer", "conflicts", "without the swizzle"]
    return Table.from_rows(rows, headings, "<<<<<<", level=1)


def explain_content(entries: Sequence[GlossaryEntry]) -> Iterator[Block]:
    """Yield entries of the glossary."""
    for entry in entries:
        yield title(entry.word, f"({', '.join(entry.stages)})")
        yield Line(entry.text, fit="wrapped")
        if entry.names:
            yield Line(f"also: {', '.join(entry.names)}", fit="wrapped")
        if entry.related:
            yield Line(f"related: {', '.join(entry.related)}", fit="wrapped")
        if entry.see:
            yield Line(f"see: {entry.see.title}" + (f", {entry.see.url}" if entry.see.url else ""))


def glossary_content(entries: Sequence[GlossaryEntry]) -> Iterator[Block]:
    """Yield a row per entry: the word, the stage that has it, and its first sentence."""
    rows = [(e.word, e.stages[0], e.text.partition(". ")[0].rstrip(".")) for e in entries]
    yield Table.from_rows(rows, (), "<<<", (0, 6))


def lint_content(result: LintResult) -> Iterator[Block]:
    """Yield two lines per problem, then the total."""
    for problem in result.problems:
        location = f"{relative_file(problem.file)}:{problem.line}:{problem.column}: "
        rule = f"{problem.rule.code} {problem.rule.name}:"
        yield Line([(location, ""), (rule, "warning"), (f" {problem.message}", "")])
        yield Line(problem.fix, 2)
    yield Line(lint_summary(result))


def lint_summary(result: LintResult) -> str:
    """Return how many problems there are."""
    files = pluralize(result.files, "file")
    if result.problems:
        return f"{pluralize(len(result.problems), 'problem')} in {files}"
    return f"{files}: no problems found"


def versions_content(
    summaries: Sequence[VersionSummary], bits: Sequence[Sequence[VersionBits]]
) -> Iterator[Block]:
    """Yield a part per kernel and target, with a list per step from a version to the next.

    `bits` are what the versions of each change about the bits of its configs.
    """
    for summary, changes in zip(summaries, bits, strict=True):
        versions = ", ".join(str(version) for version in summary.versions)
        most = max(map(len, summary.versions.values()))
        yield title(f"{summary.kernel}  {summary.target}", f"{pluralize(most, 'config')}: {versions}")
        for step in summary.steps:
            yield Line([(step.heading, "heading"), (f"  {step.counts}", "")], 1)
            for movement in step.movements:
                word, role = ("worse ", "warning") if movement.worse else ("better", "best")
                yield Line([(word, role), (f"  {movement.text(len(step.pairs))}", "")], 2)
            if step.first_stages:
                yield Line(f"first real difference: {step.first_stages}", 2)
        for change in changes:
            yield Line([(change.change, "heading"), (f"  {change.counts}", "")], 1)
            texts = [(pair.answer, text, pair.b) for pair in change.pairs for text in pair.texts]
            for (answer, text), members in grouped(texts, lambda item: item[:2]).items():
                role = "warning" if answer == "differ" else ""
                ids = ", ".join(f"#{number}" for *_, number in members)
                yield Line([(answer, role), (f"  {ids}: {text}", "")], 2, fit="wrapped")
