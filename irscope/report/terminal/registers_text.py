"""`irscope registers` for a person: the peak, the values live there, TTGIR's tensors, and the spills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.model import Variant
from irscope.model.text import clipped, one_line, pluralize
from irscope.report.terminal.styles import Paint
from irscope.workspace import RegisterReport, SourceLine, SpilledValue

_MOST_LINES = 3


def registers_text(
    variant: Variant, name: str, report: RegisterReport, most: int, width: int | None, paint: Paint
) -> Iterator[str]:
    """The lines of the report, cut at `width` columns (None: whole), with `most` rows per table."""
    yield paint(one_line(f"#{variant.id} {name}  {variant.kernel.name}  {variant.target}"), "heading")
    for line in _body(report, most, paint):
        text = one_line(line)
        yield text if width is None else clipped(text, width)


def _body(report: RegisterReport, most: int, paint: Paint) -> Iterator[str]:
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
        for one in report.tensors[:most]:
            yield f"  {one.tensor.registers:>5}  {one.text} ({one.tensor.layout})"
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
    places = f"{',' if loops else ''} at line{'s' if len(lines) > 1 else ''} {where}" if lines else ""
    return f"{pluralize(number, noun)}{loops}{places}"


def _place(line: SourceLine | None, name: str = "") -> str:
    if line is None or not line.line:
        return "an unknown line"
    return f"{name} (line {line.line})" if name else f"line {line.line}"


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"  {number} more"
