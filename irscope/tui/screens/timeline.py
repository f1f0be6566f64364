"""The timelines of A and B on one scale: what is in flight when, and what waits for what.

The panel of the timelines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.document.blocks import Line
from irscope.document.terminal.document_text import text_lines
from irscope.document.timeline_content import (
    COLORS,
    GlyphRun,
    Scale,
    Track,
    label_width,
    legend,
    phase_line,
    role_of,
    ruler,
    runs,
    span_text,
    timeline_sentences,
    tracks,
)
from irscope.model import UserError
from irscope.model.kernel_timeline import KernelTimeline, Span
from irscope.model.text import clipped, display_line
from irscope.tui.bindings import LEAVE, KeyGroup, key
from irscope.tui.screens import OPEN_TIMELINE
from irscope.tui.screens.dialogs import DismissOnce
from irscope.tui.screens.explain import explain_line
from irscope.tui.widgets.bars import KeyHints, Label, WrappedBar
from irscope.tui.widgets.styled import Styled
from irscope.workspace import StageLine
from irscope.workspace.timeline_text import lane_sentences

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen

_ZOOM = 1.5
# The fewest cycles of a column.
_LEAST_CYCLES = 0.5
_STAGE = "ttgir"
# The numbers of a track and of a span in it, the first cycle on screen, and the zoom.
Place = tuple[int, int, float, float]


class TimelineBar(WrappedBar):
    """Text above or below the timelines."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "note", "value", "problem"}


@dataclass(frozen=True)
class _Row:
    """A line of the panel: a text in a style, or a track of a side."""

    side: int
    text: str | Callable[[Scale], str]
    style: str = ""
    track: Track | None = None


class TimelineView(Styled, can_focus=True):
    """Rows of spans over a ruler; one span is under the cursor."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"iteration--{number}" for number in range(COLORS)),
        "wait",
        "cursor",
        "related",
        "title",
        "label",
    }

    class SpanMoved(Message):
        """The cursor moved to another span."""

    def __init__(self) -> None:
        super().__init__()
        self._timelines: Sequence[KernelTimeline] = ()
        self._headings: Sequence[str] = ()
        self._rows: Sequence[_Row] = ()
        self._tracks: Sequence[int] = ()  # the rows that have spans
        # The cursor: the number of its track and of its span in the track.
        self._number = self._place = 0
        # The first row and cycle on screen, and how much larger than whole the picture is.
        self._top, self._start, self._zoom = 0, 0.0, 1.0

    # What is shown.

    def show(self, timelines: Sequence[KernelTimeline], headings: Sequence[str]) -> None:
        """Show one or two timelines with these headings."""
        self._timelines, self._headings = timelines, headings
        self.on_resize()

    def on_resize(self) -> None:
        """Arrange the rows for another width, and scroll to the cursor."""
        self._rows = list(self._arranged())
        self._tracks = [number for number, row in enumerate(self._rows) if row.track]
        self._follow()

    def _arranged(self) -> Iterator[_Row]:
        """Yield the rows of each side, the legend, and what the pictures say."""
        for side, (timeline, heading) in enumerate(zip(self._timelines, self._headings, strict=True)):
            yield from [_Row(side, "")] * bool(side)
            yield _Row(side, heading, "title")
            yield from self._texts((Line(text, fit="wrapped") for text in lane_sentences(timeline)), "label")
            if timeline.spans:
                yield _Row(side, ruler, "label")
                yield _Row(side, partial(phase_line, timeline), "label")
                yield from (_Row(side, track.label, "", track) for track in tracks(timeline))
        if kinds := {span.kind for timeline in self._timelines for span in timeline.spans}:
            yield _Row(0, "")
            yield from self._texts(map(Line, legend(kinds, self.size.width)), "label")
        for line in timeline_sentences(self._timelines):
            yield from [_Row(0, "")] * line.gap
            is_title = any(role == "heading" for _, role in line.pieces)
            yield from self._texts([line], "title" if is_title else "")

    def _texts(self, lines: Iterable[Line], style: str) -> Iterator[_Row]:
        return (_Row(0, text, style) for text in text_lines(lines, max(self.size.width, 20)))

    @property
    def current(self) -> tuple[int, int] | None:
        """Return the side and the index of the span under the cursor; None without spans."""
        row = self._rows[self._tracks[self._number]] if self._tracks else None
        return (row.side, row.track.spans[self._place]) if row and row.track else None

    @property
    def place(self) -> Place:
        """Return where the cursor is, and which part is on screen."""
        return self._number, self._place, self._start, self._zoom

    def return_to(self, place: Place) -> None:
        """Go back to what `place` was, if it is still there."""
        number, index, start, zoom = place
        if number < len(self._tracks) and index < len(self._spans(number)):
            self._number, self._place, self._start, self._zoom = number, index, start, zoom
            self._follow()

    def _spans(self, number: int) -> Sequence[int]:
        track = self._rows[self._tracks[number]].track
        return track.spans if track else ()

    def _span(self) -> Span | None:
        current = self.current
        return self._timelines[current[0]].spans[current[1]] if current else None

    # Moving.

    def move(self, step: int) -> None:
        """Move the cursor along its row."""
        if self._tracks:
            self._place = max(0, min(self._place + step, len(self._spans(self._number)) - 1))
        self._follow()

    def move_lane(self, step: int) -> None:
        """Move the cursor by rows, to the span there that starts next to its own.

        After the last row, scroll to what is below.
        """
        span, last = self._span(), len(self._tracks) - 1
        number = max(0, min(self._number + step, last))
        if span is not None and (step < 0 or number != self._number):
            below, self._number = self._number + step - last, number
            self._go_to(number, span.start)
        else:
            below = step
        if below > 0 or span is None:
            self._top = max(0, min(self._top + below, len(self._rows) - self.size.height))
            self.refresh()

    def _go_to(self, number: int, cycle: float) -> None:
        """Move the cursor to the span of a track that starts next to a cycle."""
        side = self._rows[self._tracks[number]].side
        starts = [abs(self._timelines[side].spans[index].start - cycle) for index in self._spans(number)]
        self._number, self._place = number, starts.index(min(starts))
        self._follow()

    def follow_wait(self) -> bool:
        """Go from a wait to what ends it, from there to the wait, from other spans to the next wait.

        Return False if there is none.
        """
        side, index = self.current or (0, -1)
        for partner in self._partners(side, index):
            for number, row in enumerate(self._tracks):
                if self._rows[row].side == side and partner in self._spans(number):
                    self._number, self._place = number, self._spans(number).index(partner)
                    self._follow()
                    return True
        spans = self._spans(self._number) if self._tracks else ()
        for place in range(self._place + 1, len(spans)):
            if self._timelines[side].spans[spans[place]].kind == "wait":
                self.move(place - self._place)
                return True
        return False

    def _partners(self, side: int, index: int) -> list[int]:
        """Return what ends a span that is a wait, and the waits that it ends."""
        items = self._timelines[side].dependencies if self._timelines else ()
        return [item.releasing for item in items if item.waiting == index] + [
            item.waiting for item in items if item.releasing == index
        ]

    def zoom(self, step: int) -> None:
        """Enlarge (1) or reduce (-1) the picture around the cursor."""
        if (span := self._span()) is not None:
            self._zoom_at(step, (span.start + span.end) / 2)

    def _zoom_at(self, step: int, cycle: float) -> None:
        before = self._scale
        most = self._cycles / before.width / _LEAST_CYCLES
        self._zoom = max(1.0, min(self._zoom * _ZOOM**step, max(most, 1.0)))
        self._start = cycle - (cycle - before.start) * self._scale.cycles / before.cycles
        self._clamp()

    def show_whole(self) -> None:
        """Show all cycles."""
        self._start, self._zoom = 0.0, 1.0
        self.refresh()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Enlarge the picture around the pointer."""
        self._wheel(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Reduce the picture around the pointer."""
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, step: int) -> None:
        event.stop()
        self._zoom_at(step, self._cycle(event.x))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the span that is clicked, or to the next one in its row."""
        row = self._top + event.y
        if row in self._tracks:
            number, cycle = self._tracks.index(row), self._cycle(event.x)
            side = self._rows[row].side
            spans = [self._timelines[side].spans[index] for index in self._spans(number)]
            inside = (span.start for span in reversed(spans) if span.start <= cycle < span.end)
            self._go_to(number, next(inside, cycle))

    # Drawing.

    @property
    def _cycles(self) -> float:
        return max((timeline.cycles for timeline in self._timelines), default=0.0) or 1.0

    @property
    def _label(self) -> int:
        return label_width([row.track for row in self._rows if row.track], self.size.width)

    @property
    def _scale(self) -> Scale:
        columns = max(1, self.size.width - self._label)
        return Scale(self._start, self._cycles / self._zoom / columns, columns)

    def _cycle(self, x: int) -> float:
        return self._start + (x - self._label + 0.5) * self._scale.cycles

    def _follow(self) -> None:
        """Scroll to the cursor; from the first row of a side, also to its heading."""
        span, scale = self._span(), self._scale
        if span is not None:
            if not (scale.start <= span.start and span.end <= scale.end):
                room = scale.end - scale.start - (span.end - span.start)
                self._start = span.start - max(room, 0.0) / 2
            row, height = self._tracks[self._number], max(self.size.height, 1)
            heading = max(number for number in range(row) if self._rows[number].style == "title")
            is_first = not any(heading < number < row for number in self._tracks)
            self._top = max(row - height + 1, min(self._top, heading if is_first else row))
        self._clamp()
        self.post_message(self.SpanMoved())

    def _clamp(self) -> None:
        self._start = max(0.0, min(self._start, self._cycles * (1 - 1 / self._zoom)))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a row."""
        number = self._top + y
        row = self._rows[number] if number < len(self._rows) else _Row(0, "")
        label, scale = self._label, self._scale
        if row.track is None:
            is_scale = callable(row.text)
            text = " " * label + row.text(scale) if callable(row.text) else row.text
            style = self.style(row.style) if row.style else self.base
            shown = text if is_scale else clipped(display_line(text), self.size.width)
            segments = [Segment(shown, style)]
        else:
            name = clipped(row.text if isinstance(row.text, str) else "", label - 1).ljust(label)
            segments = [Segment(name, self.style("label"))]
            at_cursor = bool(self._tracks) and number == self._tracks[self._number]
            segments += self._track(row, row.track, scale, at_cursor)
        return Strip(segments).adjust_cell_length(self.size.width, self.base)

    def _track(self, row: _Row, track: Track, scale: Scale, at_cursor: bool) -> list[Segment]:
        """Return the spans of a row; marked are that under the cursor and those that it depends on."""
        timeline = self._timelines[row.side]
        row_runs = runs(timeline, track, scale)
        text = "".join(run.text for run in row_runs)
        styles = [_style(timeline, run) for run in row_runs for _ in run.text]
        side, index = self.current or (-1, -1)
        marks = dict.fromkeys(self._partners(side, index), "related") if side == row.side else {}
        if at_cursor:
            marks[index] = "cursor"
        for marked, style in marks.items():
            if marked in track.spans:
                first, end = scale.columns(timeline.spans[marked])
                for column in range(max(first, 0), min(end, scale.width)):
                    styles[column] = style
        return [
            Segment(
                "".join(text[column] for column in columns),
                self.style(style) if style else self.base,
            )
            for style, columns in groupby(range(scale.width), styles.__getitem__)
        ]


def _style(timeline: KernelTimeline, run: GlyphRun) -> str:
    """Return the style class of a run: "iteration--2" for the role "iteration2"."""
    return role_of(timeline, run).replace("iteration", "iteration--")


class TimelineScreen(DismissOnce[StageLine]):
    """Returns the line of TTGIR that the user wants to see, if any."""

    OPENED_BY: ClassVar[Binding] = OPEN_TIMELINE
    KEYS: ClassVar[Sequence[KeyGroup]] = (
        KeyGroup(
            "In the timeline",
            (
                key("l,right", "span(1)", "Next span of the row", "span"),
                key("h,left", "span(-1)", "Previous span"),
                key("j,down", "lane(1)", "Row below; after the last one, what the picture says", "row"),
                key("k,up", "lane(-1)", "Row above"),
                key("pagedown,space,ctrl+f", "rows_down(1)", "Page down", name="page_down"),
                key("pageup,ctrl+b", "rows_down(-1)", "Page up", name="page_up"),
                key("ctrl+d", "rows_down(0.5)", "Half a page down", name="half_page(1)"),
                key("ctrl+u", "rows_down(-0.5)", "Half a page up", name="half_page(-1)"),
                key("g,home", "rows_down(-1000)", "First row", name="first"),
                key("G,end", "rows_down(1000)", "What the picture says", name="last"),
                key("+,=", "zoom_time(1)", "Zoom in; also with the mouse wheel", "zoom"),
                key("-", "zoom_time(-1)", "Zoom out"),
                key("z", "whole_time", "Show all cycles", "all"),
                key("w", "follow_wait", "Next wait; from a wait to what ends it, or back", "waits for"),
                key("enter", "go", "Go to the span's line of TTGIR", "go there", name="go_to_span"),
            ),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS[0].bindings, *LEAVE.bindings]

    @classmethod
    def open(cls, main: CompareScreen, place: Place | None = None) -> None:
        """Draw A and B; going back from a jump reopens the screen at `place`."""
        screen = cls(main, place)

        def go(target: StageLine | None) -> None:
            main.navigation.go_to(target, partial(cls.open, main, screen.view.place))

        main.app.push_screen(screen, go)

    def __init__(self, main: CompareScreen, place: Place | None = None) -> None:
        super().__init__()
        self._main, self._pair = main, main.pair
        self._timelines: Sequence[KernelTimeline] = ()
        self._place = place
        self.view = TimelineView()

    def compose(self) -> ComposeResult:
        """Yield the title, the timelines, the span under the cursor, the keys."""
        yield TimelineBar(id="timeline-title")
        yield self.view
        yield TimelineBar(id="timeline-span")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Make the timelines in the background."""
        self.view.focus()
        self._set("title", Label(" executing the loops of A and B...", "note"))
        self._fill()

    @work(exclusive=True, exit_on_error=False)
    async def _fill(self) -> None:
        pair = self._pair
        variants = [pair.a] if pair.single else [pair.a, pair.b]
        try:
            self._timelines = [
                await self._main.background.run(pair.workspace.kernel_timeline, variant)
                for variant in variants
            ]
        except UserError as error:  # a damaged stage
            self._set("title", Label(f" {error} ", "problem"))
            return
        self._set("title", Label(" Timeline ", "name"), Label(" cycles of a model, not measured ", "note"))
        self.view.show(self._timelines, [heading for heading in pair.headings() if heading])
        if self._place:
            self.view.return_to(self._place)

    def _set(self, name: str, *labels: Label) -> None:
        self.query_one(f"#timeline-{name}", TimelineBar).set_labels(labels)

    @property
    def text(self) -> str:
        """Return what the span under the cursor is; "" without spans."""
        current = self.view.current
        return span_text(self._timelines[current[0]], current[1]) if current and self._timelines else ""

    @on(TimelineView.SpanMoved)
    def _describe(self) -> None:
        """Describe the span under the cursor."""
        current = self.view.current
        letter = "AB"[current[0]] if current and len(self._timelines) > 1 else ""
        self._set("span", Label(f" {letter} " if letter else "", "name"), Label(f" {self.text}", "value"))

    def action_span(self, step: int) -> None:
        """Go to the next span of the row."""
        self.view.move(step)

    def action_lane(self, step: int) -> None:
        """Go to the next row."""
        self.view.move_lane(step)

    def action_rows_down(self, pages: float) -> None:
        """Move the cursor by pages."""
        self.view.move_lane(int(pages * self.view.size.height))

    def action_zoom_time(self, step: int) -> None:
        """Show less time, larger, or more."""
        self.view.zoom(step)

    def action_whole_time(self) -> None:
        """Show all cycles."""
        self.view.show_whole()

    def action_follow_wait(self) -> None:
        """Go from a wait to what ends it, or from there to the wait."""
        if not self.view.follow_wait():
            self.notify("No wait follows in this row")

    def action_go(self) -> None:
        """Go to the line of the span under the cursor."""
        if (current := self.view.current) is None:
            return
        line = self._timelines[current[0]].spans[current[1]].stage_line
        if line:
            self.dismiss(StageLine(_STAGE, line - 1, current[0] == 1))
        else:
            self.notify("This span has no line of TTGIR")

    def action_explain(self) -> None:
        """Explain the terms that describe the span."""
        explain_line(self.app, f"num_stages {self.text}")

    def action_close(self) -> None:
        """Return to the texts."""
        self.dismiss(None)
