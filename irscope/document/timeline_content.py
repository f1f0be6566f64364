"""A kernel's timeline as rows of glyphs over a ruler of cycles, and in sentences.

             |0       |500     |1,000   |1,500
             prologue      ├─ steady, 500 each ─┤
warps        ░░░░░░0░░░░▒██
a[0] b[0]    ═════0═════████0████
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

from irscope.document.blocks import Line, title
from irscope.model.kernel_timeline import CONSUMERS, KernelTimeline, Span, SpanKind, without_slot
from irscope.model.records import frozen
from irscope.model.text import clipped, one_line
from irscope.workspace.charts import axis_scale
from irscope.workspace.timeline_text import agent_text, cause_text, is_pair, lane_sentences, timeline_texts

# The glyph of each kind, and what the legend says.
GLYPHS: dict[SpanKind, tuple[str, str]] = {
    "copy": ("═", "copy in flight"),
    "load": ("─", "load to registers"),
    "product": ("█", "product"),
    "wait": ("░", "blocked wait"),
    "read": ("<", "read of a buffer"),
    "write": (">", "write to a buffer"),
    "store": ("»", "store"),
    "compute": ("▒", "other work"),
    "arrive": ("▲", "arrival"),
}
_HELD = ("·", "filled, not used yet")
# The colors of iterations repeat after so many.
COLORS = 4
_NARROW, _MOST_LABEL = 100, 24
_LEAST_LABEL = 12
_COLUMNS_PER_TICK = 12
# Slots whose spans differ by less than this share of the picture have one row.
_SAME_ROW = 1 / 40
_PREPOSITIONS = {"copy": "to", "write": "to", "product": "with", "read": "from"}
# Spans whose label says what they are, if there is room.
_NAMED = ("load", "read", "write", "store", "compute")


@frozen
class Track:
    """A row of the picture: what a lane does, what happens to a slot of a buffer, or the critical path.

    `spans` are indices of spans, by their start.
    """

    label: str
    spans: tuple[int, ...]
    kind: Literal["lane", "slot", "critical path"] = "lane"


@frozen
class Scale:
    """The cycles from `start` on in `width` columns of `cycles` each."""

    start: float
    cycles: float
    width: int

    def column(self, cycle: float) -> int:
        """Return the column that has a cycle."""
        return int((cycle - self.start) // self.cycles)

    def columns(self, span: Span) -> tuple[int, int]:
        """Return the first column of a span and the one after its last; it has at least one."""
        first = self.column(span.start)
        return first, max(first + 1, -int((self.start - span.end) // self.cycles))

    @property
    def end(self) -> float:
        """Return the cycle after the last column."""
        return self.start + self.width * self.cycles


@frozen
class GlyphRun:
    """Neighboring columns of a row: their text, and the index of the span that they show, or -1."""

    text: str
    span: int


def tracks(timeline: KernelTimeline) -> list[Track]:
    """Return the rows of a picture: the warps, the tensor cores, the slots of buffers, the critical path."""
    spans = timeline.spans
    rows: list[Track] = []
    for number, lane in enumerate(timeline.lanes):
        indices = [
            index
            for index, span in enumerate(spans)
            if span.lane == number
            and not (lane.engine == "copies" and span.buffers)
            and (span.kind != "wait" or blocks(span))
        ]
        for row, packed in enumerate(_packed(spans, indices)):
            rows.append(Track(lane.name if not row else "", packed))
    rows += _slot_tracks(timeline)
    # A wait on the path lasts as long as what it waits for, which is on the path as well.
    if critical := [index for index, span in enumerate(spans) if span.critical and span.kind != "wait"]:
        rows.append(Track("critical", _by_start(spans, critical), "critical path"))
    return rows


def blocks(wait: Span) -> bool:
    """Return True if a wait takes time; others are not shown."""
    return wait.end > wait.start


def _packed(spans: Sequence[Span], indices: Iterable[int]) -> list[tuple[int, ...]]:
    """Distribute spans over as few rows as have no two at once."""
    rows: list[list[int]] = []
    for index in _by_start(spans, indices):
        row = next((row for row in rows if spans[row[-1]].end <= spans[index].start), None)
        if row is None:
            rows.append(row := [])
        row.append(index)
    return [tuple(row) for row in rows]


def _by_start(spans: Sequence[Span], indices: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(indices, key=lambda index: (spans[index].start, spans[index].end)))


def _slot_tracks(timeline: KernelTimeline) -> list[Track]:
    """Return a row per slot of a buffer; slots that are filled and used at the same time share one."""
    slots: dict[str, list[int]] = {}
    for index, span in enumerate(timeline.spans):
        for buffer in span.buffers:
            slots.setdefault(buffer, []).append(index)
    order = list(dict.fromkeys(map(without_slot, slots)))
    names = sorted(slots, key=lambda name: (order.index(without_slot(name)), len(name), name))
    most = timeline.cycles * _SAME_ROW
    rows: list[tuple[list[str], list[int]]] = []
    for name in names:
        mates = (row for row in rows if _alike(timeline.spans, row[1][: len(slots[name])], slots[name], most))
        row = next(mates, None)
        if row is None:
            rows.append(([name], slots[name]))
        else:
            row[0].append(name)
            row[1].extend(index for index in slots[name] if index not in row[1])
    return [
        Track(one_line(" ".join(labels)), _by_start(timeline.spans, indices), "slot")
        for labels, indices in rows
    ]


def _alike(spans: Sequence[Span], row: Sequence[int], other: Sequence[int], most: float) -> bool:
    """Return True if two slots have the same kinds of spans of the same iterations within `most` cycles."""
    return len(row) == len(other) and all(
        (a.kind, a.iteration) == (b.kind, b.iteration)
        and max(abs(a.start - b.start), abs(a.end - b.end)) <= most
        for a, b in ((spans[i], spans[j]) for i, j in zip(row, other, strict=True))
    )


def runs(timeline: KernelTimeline, track: Track, scale: Scale) -> list[GlyphRun]:
    """Return what a row shows, from left to right, blanks included.

    If several spans are in one column, it shows the one that has most of it.
    """
    owners = _owners(timeline.spans, track, scale)
    waiting: dict[int, int] = {}
    for index, start, end in held(timeline.spans, track):
        first, last = scale.column(start), scale.column(end)
        waiting.update(dict.fromkeys(range(max(first, 0), min(last, scale.width)), index))
    releasing = {item.waiting: timeline.spans[item.releasing] for item in timeline.dependencies}

    def key(column: int) -> tuple[object, int]:
        """Return what neighboring columns have in common: their span, or in a slot what happens to it."""
        index = owners[column]
        if index < 0:
            return "held", waiting.get(column, -1)
        span = timeline.spans[index]
        return ("span", index) if track.kind == "lane" else (span.kind, span.iteration)

    row: list[GlyphRun] = []
    for (what, which), columns in groupby(range(scale.width), key):
        first, *rest = columns
        width = 1 + len(rest)
        if what == "held":
            row.append(GlyphRun((" " if which < 0 else _HELD[0]) * width, which))
        else:
            index = owners[first]
            text = _run_text(timeline.spans[index], releasing.get(index), width)
            row.append(GlyphRun(text, index))
    return row


def _owners(spans: Sequence[Span], track: Track, scale: Scale) -> list[int]:
    """Return the span that each column shows, or -1: the one that has most of it."""
    owners, cover = [-1] * scale.width, [0.0] * scale.width
    for index in sorted(track.spans, key=lambda index: spans[index].start - spans[index].end):
        span = spans[index]
        first, end = scale.columns(span)
        for column in range(max(first, 0), min(end, scale.width)):
            left = scale.start + column * scale.cycles
            share = min(span.end, left + scale.cycles) - max(span.start, left)
            if owners[column] < 0 or share > cover[column]:
                owners[column], cover[column] = index, share
    return owners


def held(spans: Sequence[Span], track: Track) -> Iterator[tuple[int, float, float]]:
    """Yield when a slot has data that is not used yet: the span that brought it, from and to which cycle."""
    filled: dict[int, int] = {}
    for index in track.spans if track.kind == "slot" else ():
        span = spans[index]
        before = filled.get(span.iteration)
        if before is not None and span.kind in CONSUMERS and span.start > spans[before].end:
            yield before, spans[before].end, span.start
        if before is None or span.end > spans[before].end:
            filled[span.iteration] = index


def _run_text(span: Span, releasing: Span | None, width: int) -> str:
    """Return the glyphs of a span with its label in their middle."""
    glyph, label = GLYPHS[span.kind][0], span_label(span, releasing, width)
    left = (width - len(label) + 1) // 2
    return glyph * left + label + glyph * (width - left - len(label))


def span_label(span: Span, releasing: Span | None, width: int) -> str:
    """Return what a wait is for, or the iteration of another span; "" if `width` characters are too few."""
    labels = [str(span.iteration)] if span.iteration >= 0 else []
    if span.kind in _NAMED:
        labels.insert(0, f"{span.kind} {span.iteration}" if labels else span.kind)
    elif span.barrier:
        barrier = one_line(span.barrier)
        labels = [*([f"{barrier}/{span.phase}"] if span.phase >= 0 else []), barrier, *labels]
    elif releasing is not None and labels:
        labels = [f"{releasing.kind} {span.iteration}", *labels]
    return next((text for text in labels if len(text) + 2 * (len(text) > 2) < width), "")


def role_of(timeline: KernelTimeline, run: GlyphRun) -> str:
    """Return the role of a run's text: that of its iteration, or "wait"."""
    span = timeline.spans[run.span]
    if run.span >= 0 and span.kind == "wait":
        return "wait"
    return f"iteration{span.iteration % COLORS}" if run.span >= 0 and span.iteration >= 0 else ""


def ruler(scale: Scale) -> str:
    """Return the labels of round cycles, each after a bar at its column."""
    text = ""
    marks = axis_scale(scale.start, scale.end, max(1, scale.width // _COLUMNS_PER_TICK))
    for value in marks.values():
        column = round((value - scale.start) / scale.cycles)
        label = f"|{value:,.0f}"
        if column >= 0 and column >= len(text) and column + len(label) <= scale.width:
            text = text.ljust(column) + label
    return text


def phase_line(timeline: KernelTimeline, scale: Scale) -> str:
    """Return the marks of the prologue, the steady state and the epilogue."""
    steady = timeline.steady_cycles
    if steady is None:
        return ""
    left, right = (max(0, min(scale.width, round((cycle - scale.start) / scale.cycles))) for cycle in steady)
    middle = ""
    if right - left >= 2:
        texts = (f" steady, {timeline.period:,.0f} cycles each ", " steady ", "")
        text = next(text for text in texts if len(text) <= right - left - 2)
        middle = f"├{text.center(right - left - 2, '─')}┤"
    before = "prologue" if left > len("prologue") else ""
    last = min(scale.width, round((timeline.cycles - scale.start) / scale.cycles))
    after = " epilogue" if last - right > len(" epilogue") else ""
    return f"{before.center(left)}{middle}{after}"


def timeline_content(
    timelines: Sequence[KernelTimeline], headings: Sequence[str], width: int
) -> Iterator[Line]:
    """Yield the pictures of one or two variants on one scale, a legend, and what the pictures say."""
    rows = [tracks(timeline) for timeline in timelines]
    label = label_width([row for some in rows for row in some], width)
    columns = max(width - label, 1)
    cycles = max((timeline.cycles for timeline in timelines), default=0.0) or 1.0
    scale = Scale(0.0, cycles / columns, columns)
    for timeline, some, heading in zip(timelines, rows, headings, strict=True):
        yield Line([(heading, "heading")], gap=True, fit="cut")
        yield from (Line(text, fit="wrapped") for text in lane_sentences(timeline))
        if timeline.spans:
            yield Line([(" " * label + ruler(scale), "dim")])
            if phases := phase_line(timeline, scale):
                yield Line([(" " * label + phases, "dim")])
            yield from (picture_line(timeline, row, scale, label) for row in some)
    if kinds := {span.kind for timeline in timelines for span in timeline.spans}:
        for number, text in enumerate(legend(kinds, width)):
            yield Line([(text, "dim")], gap=not number, fit="wrapped")
    yield from timeline_sentences(timelines)


def label_width(rows: Sequence[Track], width: int) -> int:
    """Return the columns for the labels of rows in a picture of `width` columns."""
    most = _LEAST_LABEL if width < _NARROW else _MOST_LABEL
    return min(most, max((len(row.label) for row in rows), default=0)) + 1


def picture_line(timeline: KernelTimeline, track: Track, scale: Scale, label: int) -> Line:
    """Return a row with its label in `label` columns."""
    pieces = [(run.text, role_of(timeline, run)) for run in runs(timeline, track, scale)]
    pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
    return Line([(clipped(track.label, label - 1).ljust(label), ""), *pieces])


def span_text(timeline: KernelTimeline, index: int) -> str:
    """Return what a span is, when it runs, what it waits for, and what waits for it."""
    span = timeline.spans[index]
    names = ", ".join(span.buffers)
    parts = [
        span.kind,
        f"of iteration {span.iteration}" if span.iteration >= 0 else "",
        f"{_PREPOSITIONS.get(span.kind, 'of')} {names}" if names else "",
        f"at barrier {span.barrier}" if span.barrier else "",
        f"phase {span.phase}" if span.phase >= 0 else "",
        f"line {span.source_line}" if span.source_line else "",
    ]
    text = ", ".join([" ".join(filter(None, parts[:3])), *filter(None, parts[3:])])
    cycles = f"cycles {span.start:,.0f} to {span.end:,.0f}"
    issued = f", issued in {span.issued:,.0f}" if span.issued < span.start else ""
    texts = [f"{text}: {cycles}{issued}"]
    if span.critical:
        texts.append("on the critical path")
    for item in timeline.dependencies:
        if item.waiting == index:
            texts.append(f"waits for {cause_text(span, timeline.spans[item.releasing])}")
        elif item.releasing == index and blocks(timeline.spans[item.waiting]):
            lane = timeline.lanes[timeline.spans[item.waiting].lane]
            texts.append(f"{agent_text(lane, 'go', 'goes')} on when it ends")
    return one_line("; ".join(dict.fromkeys(texts)))


def legend(kinds: Iterable[str], width: int) -> list[str]:
    """Return what the glyphs of these kinds mean, in lines of `width` columns."""
    present = set(kinds)
    texts = [f"{glyph} {text}" for kind, (glyph, text) in GLYPHS.items() if kind in present]
    if "copy" in present:
        texts[1:1] = [" ".join(_HELD), "[1] slot of a buffer"]
    lines = [""]
    for text in [*texts, "0 1 2 iteration of the data", "critical: what decides the time"]:
        if len(f"{lines[-1]}   {text}") > width:
            lines.append("")
        lines[-1] += f"   {text}" if lines[-1] else text
    return lines


def timeline_sentences(timelines: Sequence[KernelTimeline]) -> Iterator[Line]:
    """Yield what one timeline says, or how the second differs from the first, and the notes of both."""
    if texts := timeline_texts(timelines):
        yield title("B compared with A" if is_pair(timelines) else "In the steady state")
    yield from (Line(text, 1, fit="wrapped") for text in texts)
    notes = [note for timeline in timelines for note in timeline.notes]
    for number, note in enumerate(dict.fromkeys(notes)):
        yield Line(note, fit="wrapped", gap=not number)
