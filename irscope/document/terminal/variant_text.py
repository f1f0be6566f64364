"""`irscope verdict` as text: a handful of lines per variant, for a person or an agent.

`irscope registers` for a person: the peak, the values live there, TTGIR's tensors, and the spills.

`irscope explain` for a person.

`irscope lint` for a person.

`irscope versions` for a person.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from irscope.document.terminal.styles import PLAIN, Paint
from irscope.glossary.glossary import GlossaryEntry
from irscope.model import Variant
from irscope.model.text import clipped, one_line, pluralize
from irscope.workspace import LintResult, RegisterReport, SourceLine, SpilledValue, Verdict
from irscope.workspace.kernel_scopes import relative_file
from irscope.workspace.timeline import VersionStep, VersionSummary
from irscope.workspace.verdict import KeyPoint, PairVerdict

NO_REMEDY = "try: no remedy is known; findings, lint rules and the other variants suggest none"


def verdict_text(verdict: Verdict) -> Iterator[str]:
    """Yield the lines of a verdict."""
    variant = verdict.variant
    yield one_line(f"#{variant.id} {verdict.name}  {variant.kernel.name}  {variant.target}")
    yield from ("  " + one_line(line) for line in _verdict_body(verdict))
    if verdict.pair is not None:
        yield from map(one_line, _pair(verdict, verdict.pair))


def _verdict_body(verdict: Verdict) -> Iterator[str]:
    if verdict.problem:
        yield verdict.problem
    elif verdict.launchable:
        yield "can be launched"
    used = ", ".join(resource.text for resource in verdict.resources)
    if verdict.occupancy is not None:
        limited = f", limited by {verdict.limiter}" if verdict.limiter else ""
        used += f"; occupancy {round(verdict.occupancy * 100, 1):g}%{limited}"
    if used:
        yield used
    if verdict.variant.failure is None:
        yield verdict.bound
    yield from _points(verdict.points, verdict.more)
    if not verdict.remedies:
        yield NO_REMEDY
    yield from (f"{remedy} [{remedy.basis}]" for remedy in verdict.remedies)


def _pair(verdict: Verdict, pair: PairVerdict) -> Iterator[str]:
    yield f"B, compared with A = #{pair.against.id} {pair.name}: {pair.change or 'equal config'}"
    if pair.duplicate:
        yield "  the machine code is identical: measure only one"
    yield from (f"  {line}" for line in _points(pair.points, pair.more))
    if pair.estimate and not any(point.kind == "estimate" for point in pair.points):
        yield f"  {pair.estimate}"


def _points(points: Sequence[KeyPoint], more: int) -> Iterator[str]:
    for number, point in enumerate(points, 1):
        line = f"line {point.line}" if point.line and f"line {point.line}" not in point.text else ""
        locations = ", ".join(part for part in (line, point.stage_line) if part)
        yield f"{number}. {point.text}{f' ({locations})' if locations else ''}"
    if more:
        yield pluralize(more, "more finding")


_MOST_LINES = 3


def registers_text(
    variant: Variant, name: str, report: RegisterReport, most: int, width: int | None, paint: Paint
) -> Iterator[str]:
    """Yield the lines of the report, cut at `width` columns (None: whole).

    Each table has at most `most` rows.
    """
    yield paint(one_line(f"#{variant.id} {name}  {variant.kernel.name}  {variant.target}"), "heading")
    for line in _registers_body(report, most, paint):
        text = one_line(line)
        yield text if width is None else clipped(text, width)


def _registers_body(report: RegisterReport, most: int, paint: Paint) -> Iterator[str]:
    yield _peak(report)
    if report.values:
        yield ""
        yield f"Live there, by the line that computed them ({report.stage})"
        yield from _values(report, most)
    if report.tensors:
        yield ""
        yield (
            f"Tensors that are live where ttgir needs most, {_place(report.tensor_place)}: "
            f"{pluralize(report.tensor_registers, 'register')} per thread"
        )
        for live_tensor in report.tensors[:most]:
            yield f"  {live_tensor.tensor.registers:>5}  {live_tensor.text} ({live_tensor.tensor.layout})"
        yield from _more(len(report.tensors) - most)
    if not report.estimate:
        yield ""
        yield from _spills(report.spills, most)


def _peak(report: RegisterReport) -> str:
    number = report.allocated
    allocated = f"{pluralize(number, 'register')} per thread" if number is not None else "Registers"
    if report.peak is None:
        return f"{allocated}; the live registers of {report.stage} are unknown"
    kind = f"{report.stage} needs about" if report.estimate else f"{report.stage} needs most,"
    loop = ", in a loop" if report.in_loop else ""
    line = f"{report.stage} line {report.stage_line + 1}"
    return f"{allocated}; {kind} {report.peak:g}, at {_place(report.place)}{loop} ({line})"


def _values(report: RegisterReport, most: int) -> Iterator[str]:
    widest = max(len(value.name) for value in report.values[:most])
    for value in report.values[:most]:
        share = f"{value.registers / report.peak:.0%}" if report.peak else ""
        numbers = ", ".join(str(line.line) for line in value.lines[:_MOST_LINES] if line.line)
        lines = f"line {numbers}" if len(value.lines) == 1 else f"lines {numbers}"
        where = f"{lines}: {value.lines[0].text}" if numbers else "unknown line"
        yield f"  {value.registers:>5g}  {share:>4}  {value.name:<{widest}}  {where}"
    yield from _more(len(report.values) - most)


def _spills(spills: Sequence[SpilledValue], most: int) -> Iterator[str]:
    if not spills:
        yield "No spills"
        return
    yield "Spilled to local memory, by the line that computed it"
    for spill in spills[:most]:
        yield f"  {_spill(spill)}"
    yield from _more(len(spills) - most)


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


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"  {number} more"


# Longer lines are tiring to read, even if the terminal is wider.
_MAX_WIDTH = 100


def explain_text(entries: Sequence[GlossaryEntry], width: int | None, paint: Paint) -> Iterator[str]:
    """Yield the lines of the entries, wrapped at `width` (None: at the maximum)."""
    wrap = min(width or _MAX_WIDTH, _MAX_WIDTH)
    for index, entry in enumerate(entries):
        if index:
            yield ""
        yield paint(entry.word, "heading") + f"  ({', '.join(entry.stages)})"
        yield from textwrap.wrap(entry.text, wrap)
        if entry.names:
            yield from textwrap.wrap(f"also: {', '.join(entry.names)}", wrap)
        if entry.related:
            yield from textwrap.wrap(f"related: {', '.join(entry.related)}", wrap)
        if entry.see:
            yield f"see: {entry.see.title}" + (f", {entry.see.url}" if entry.see.url else "")


def glossary_text(entries: Sequence[GlossaryEntry]) -> Iterator[str]:
    """Yield a line per entry: the word, the stage that has it, and its first sentence."""
    width = max(len(entry.word) for entry in entries)
    for entry in entries:
        yield f"{entry.word:<{width}}  {entry.stages[0]:<6}  {entry.text.partition('. ')[0].rstrip('.')}"


def lint_text(result: LintResult, paint: Paint = PLAIN) -> Iterator[str]:
    """Yield two lines per problem, then the total."""
    for problem in result.problems:
        location = one_line(f"{relative_file(problem.file)}:{problem.line}:{problem.column}:")
        rule = f"{problem.rule.code} {problem.rule.name}:"
        yield f"{location} {paint(rule, 'warning')} {one_line(problem.message)}"
        yield f"    {one_line(problem.fix)}"
    files = pluralize(result.files, "file")
    if result.problems:
        yield f"{pluralize(len(result.problems), 'problem')} in {files}"
    else:
        yield f"{files}: no problems found"


def versions_text(summaries: Sequence[VersionSummary], paint: Paint = PLAIN) -> Iterator[str]:
    """Yield a block per kernel and target, with a paragraph per step from a version to the next."""
    for number, summary in enumerate(summaries):
        if number:
            yield ""
        versions = ", ".join(str(version) for version in summary.versions)
        most = max(map(len, summary.versions.values()))
        yield paint(one_line(f"{summary.kernel}  {summary.target}"), "heading") + one_line(
            f"  {pluralize(most, 'config')}: {versions}"
        )
        for step in summary.steps:
            yield from _step(step, paint)


def _step(step: VersionStep, paint: Paint) -> Iterator[str]:
    yield paint(one_line(f"  {step.heading}"), "heading") + f"  {step.counts}"
    total = len(step.pairs)
    for movement in step.movements:
        word, style = ("worse", "warning") if movement.worse else ("better", "best")
        yield f"    {paint(word.ljust(6), style)}  {one_line(movement.text(total))}"
    if step.first_stages:
        yield f"    first real difference: {step.first_stages}"
