"""Timelines as SVG: a row per lane and slot of a buffer, over a ruler of cycles that two variants share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from irscope.document.html.layout_svg import (
    BACKGROUNDS,
    OF_PAGE,
    WHITE,
    Paper,
    svg_picture,
    svg_text,
    text_width,
)
from irscope.document.timeline_content import (
    GLYPHS,
    Track,
    held,
    span_label,
    span_text,
    tracks,
)
from irscope.model.kernel_timeline import KernelTimeline, Span, SpanKind
from irscope.model.records import frozen
from irscope.workspace.charts import axis_scale
from irscope.workspace.timeline_text import lane_sentences, timeline_texts

_WIDTH, _GAP, _ROW = 1180, 28, 22
_TICKS = 10
# The height of each kind in its row, and whether it has the darker shade of its iteration.
_SHAPES = {
    "copy": (9, 0),
    "load": (5, 0),
    "product": (18, 1),
    "read": (13, 0),
    "write": (13, 1),
    "store": (13, 1),
    "compute": (13, 0),
}
_COLORS = len(BACKGROUNDS) - 1
_CRITICAL = "#c00000"
_WAIT = "#c9ccd1"


@frozen
class _Page:
    """Where cycles are: from `left` on, in pixels of `cycles` each. `label`: the texts of the picture."""

    left: float
    scale: float
    paper: Paper

    def x(self, cycle: float) -> float:
        """Return the place of a cycle."""
        return self.left + cycle * self.scale


def timeline_svg(
    timelines: Sequence[KernelTimeline], headings: Sequence[str], *, in_page: bool = False
) -> str:
    """Draw one or two timelines above each other, with what they say below.

    `in_page` is true for a picture that is part of a page, which may be dark, and has the sentences.
    """
    paper = OF_PAGE if in_page else WHITE
    rows = [[row for row in tracks(timeline) if row.kind != "critical path"] for timeline in timelines]
    label = max((text_width(row.label) for some in rows for row in some), default=0.0)
    left = _GAP + label + 12
    cycles = max((timeline.cycles for timeline in timelines), default=0.0) or 1.0
    page = _Page(left, (_WIDTH - _GAP - left) / cycles, paper)
    parts: list[str] = []
    y = float(_GAP)
    for timeline, heading, some in zip(timelines, headings, rows, strict=True):
        parts.append(svg_text(_GAP, y, heading, paper.ink, size=13, weight="bold"))
        for text in [*lane_sentences(timeline), *(() if timeline.spans else timeline.notes)]:
            y += 16
            parts.append(svg_text(_GAP, y, text, paper.quiet))
        if timeline.spans:
            parts += _picture(timeline, some, page, cycles, y + 30)
            y += 30 + len(some) * _ROW
        y += 42
    kinds = {span.kind for timeline in timelines for span in timeline.spans}
    parts += _legend(kinds, y - 8, paper)
    y += 24
    for text in [
        *(() if in_page else timeline_texts(timelines)),
        *dict.fromkeys(note for item in timelines if item.spans for note in item.notes),
    ]:
        y += 16
        parts.append(svg_text(_GAP, y, text, paper.ink))
    return svg_picture(parts, _WIDTH, int(y + _GAP), paper)


def _picture(
    timeline: KernelTimeline, rows: Sequence[Track], page: _Page, cycles: float, top: float
) -> Iterator[str]:
    """Yield the ruler, the steady state as a band, and the rows."""
    paper, bottom = page.paper, top + len(rows) * _ROW
    if steady := timeline.steady_cycles:
        left, right = map(page.x, steady)
        yield (
            f'<rect x="{left:.1f}" y="{top:g}" width="{right - left:.1f}" height="{bottom - top:g}" '
            f'fill="#767c85" fill-opacity="0.12"/>'
        )
        text = f"steady, {timeline.period:,.0f} cycles each"
        short = text if text_width(text) < right - left else "steady"
        yield svg_text((left + right) / 2, bottom + 12, short, paper.quiet, anchor="middle")
        yield svg_text(page.left, bottom + 12, "prologue", paper.quiet) if left - page.left > 60 else ""
        rest = page.x(timeline.cycles)
        yield svg_text(rest, bottom + 12, "epilogue", paper.quiet, anchor="end") if rest - right > 60 else ""
    for value in axis_scale(0.0, cycles, _TICKS).values():
        if value <= cycles:
            x = page.x(value)
            yield f'<path d="M{x:.1f},{top - 4:g}V{bottom:g}" stroke="{paper.empty}" stroke-opacity="0.6"/>'
            yield svg_text(x, top - 7, f"{value:,.0f}", paper.quiet, anchor="middle")
    for number, row in enumerate(rows):
        y = top + number * _ROW
        yield svg_text(page.left - 8, y + _ROW / 2 + 3.5, row.label, paper.ink, anchor="end")
        yield from _row(timeline, row, page, y + _ROW / 2)


def _row(timeline: KernelTimeline, row: Track, page: _Page, middle: float) -> Iterator[str]:
    """Yield the spans of a row, then their labels: one for spans that share a slot and are alike."""
    for _, start, end in held(timeline.spans, row):
        yield (
            f'<path d="M{page.x(start):.1f},{middle:g}H{page.x(end):.1f}" stroke="#767c85" '
            'stroke-dasharray="1.5 3"/>'
        )
    releasing = {item.waiting: timeline.spans[item.releasing] for item in timeline.dependencies}
    labels: dict[object, str] = {}
    for index in row.spans:
        span = timeline.spans[index]
        yield _shape(span, page, middle, span_text(timeline, index))
        width = int((span.end - span.start) * page.scale / text_width("0"))
        if text := span_label(span, releasing.get(index), width):
            key = index if row.kind == "lane" else (span.kind, span.iteration)
            x = page.x((span.start + span.end) / 2)
            labels.setdefault(key, svg_text(x, middle + 3.5, text, "#000000", anchor="middle"))
    yield from labels.values()


def _shape(span: Span, page: _Page, middle: float, description: str) -> str:
    x, width = page.x(span.start), max((span.end - span.start) * page.scale, 1.0)
    about = f"<title>{escape(description)}</title>"
    if span.kind == "arrive":
        return f'<path d="M{x:.1f},{middle - 5:g}l4,9h-8z" fill="#767c85">{about}</path>'
    edge = f' stroke="{_CRITICAL}" stroke-width="1.5"' if span.critical else ' stroke="#767c85"'
    if span.kind == "wait":
        height, fill, edge = 11, _WAIT, edge + ' stroke-dasharray="3 2"'
    else:
        height, shade = _SHAPES[span.kind]
        fill = BACKGROUNDS[span.iteration % _COLORS if span.iteration >= 0 else -1][shade]
    return (
        f'<rect x="{x:.1f}" y="{middle - height / 2:g}" width="{width:.1f}" height="{height}" rx="2" '
        f'fill="{fill}"{edge}>{about}</rect>'
    )


def _legend(kinds: set[SpanKind], y: float, paper: Paper) -> Iterator[str]:
    """Yield what each shape means, in two lines."""
    x = float(_GAP)
    page = _Page(0.0, 1.0, paper)
    for kind, (_, text) in GLYPHS.items():
        if kind in kinds:
            yield _shape(Span(0, kind, x, x + 18, 0), page, y, text)
            yield svg_text(x + 23, y + 3.5, text, paper.ink)
            x += 40 + text_width(text)
    yield _shape(Span(0, "compute", _GAP, _GAP + 18, critical=True), page, y + 20, "")
    text = "on the critical path; a color and a number per iteration; [1]: slot of a buffer"
    yield svg_text(_GAP + 23, y + 23.5, f"{text}; dotted: filled, not used yet", paper.ink)
