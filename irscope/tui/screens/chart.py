"""The chart: a fact over the config values that vary, a point per variant.

The panel of the chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from irscope.model import Variant
from irscope.tui.bindings import LEAVE, KeyGroup, key
from irscope.tui.plot import COLORS, MARKS, STYLE_CLASSES, Plot, PlotCell
from irscope.tui.screens import OPEN_CHART
from irscope.tui.screens.dialogs import DismissOnce
from irscope.tui.screens.explain import explain_line
from irscope.tui.widgets.bars import Bar, KeyHints, Label
from irscope.tui.widgets.styled import Styled
from irscope.workspace import Chart, FactTable, Point
from irscope.workspace.charts import EACH, axes, chart, chartable_facts

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen


class ChartBar(Bar):
    """A line of text above or below the chart."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*STYLE_CLASSES, "fact", "name", "note", "value"}


class ChartView(Styled, can_focus=True):
    """A point per variant; one is under the cursor."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*STYLE_CLASSES}

    class PointMoved(Message):
        """The cursor moved to another point."""

    def __init__(self) -> None:
        super().__init__()
        self._chart: Chart | None = None
        self._plot: Plot | None = None
        self._cells: Sequence[Sequence[PlotCell]] = ()
        self._pair = (0, 0)
        self._cursor = 0

    @property
    def point(self) -> Point | None:
        """Return the point under the cursor."""
        points = self._chart.points if self._chart else []
        return next((point for point in points if point.variant.id == self._cursor), None)

    def show(self, chart: Chart, pair: tuple[int, int], cursor: int) -> None:
        """Draws a chart; `pair` are the ids of A and B, `cursor` that of the variant under the cursor."""
        self._chart, self._pair, self._cursor = chart, pair, cursor
        self._lay_out()

    def move(self, step: int) -> None:
        """Move the cursor to the next (1) or previous (-1) point."""
        points = self._chart.points if self._chart else []
        ids = [point.variant.id for point in points]
        if self._cursor in ids:
            index = ids.index(self._cursor) + step
            self._go_to(points[max(0, min(index, len(points) - 1))])

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the nearest point."""
        if self._plot is not None:
            self._go_to(self._plot.nearest(event.x, event.y))

    def on_resize(self) -> None:
        """Lays the chart out again."""
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        """Draws a line of the chart."""
        line = self._cells[y] if y < len(self._cells) else ()
        segments = [
            Segment("".join(cell.text for cell in cells), self.style(style) if style else self.base)
            for style, cells in groupby(line, key=lambda cell: cell.style)
        ]
        return Strip(segments).adjust_cell_length(self.size.width, self.base)

    def _go_to(self, point: Point | None) -> None:
        if point is not None:
            self._cursor = point.variant.id
            self._draw()
            self.post_message(self.PointMoved())

    def _lay_out(self) -> None:
        width, height = self.size
        drawable = self._chart is not None and self._chart.ticks and width and height
        self._plot = Plot(self._chart, width, height) if self._chart and drawable else None
        self._draw()

    def _draw(self) -> None:
        before, self._cells = self._cells, self._plot.draw(self._cursor, self._pair) if self._plot else ()
        for y, (old, new) in enumerate(zip_longest(before, self._cells)):
            if old != new:
                self.refresh(Region(0, y, self.size.width, 1))


# The facts to start with if none is chosen or it has no numbers: times on a GPU first.
_FIRST = ("ms", "estimate", "registers", "seconds")


class ChartScreen(DismissOnce[tuple[Variant, Variant]]):
    """Returns A and B, which the user may have changed. `fact` is the name of the fact to start with."""

    OPENED_BY: ClassVar[Binding] = OPEN_CHART
    KEYS: ClassVar[Sequence[KeyGroup]] = (
        KeyGroup(
            "In the chart",
            (
                key("l,right", "move(1)", "Next point", "point"),
                key("h,left", "move(-1)", "Previous point"),
                key("j,down", "fact(1)", "Next fact", "fact"),
                key("k,up", "fact(-1)", "Previous fact"),
                key("tab,x", "axis", "Use the next config value as the x axis", "x axis"),
                key("s", "split", "Use the next config value, or none, for the series", "series"),
                key("a", "mark('a')", "Make this variant A", "is A"),
                key("b,enter", "mark('b')", "Make this variant B", "is B"),
            ),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS[0].bindings, *LEAVE.bindings]

    @classmethod
    def open(cls, main: CompareScreen) -> None:
        """Charts the variants in the table of the kernel under the cursor."""
        table = main.table
        current = table.current
        variants = [v for v in table.matching if current and v.kernel.name == current.kernel.name]
        if current is None or not chartable_facts(variants, table.facts.known):
            main.notify("Nothing to chart: no fact of these variants is a number", severity="warning")
            return
        before = main.pair.a, main.pair.b

        def compare(pair: tuple[Variant, Variant] | None) -> None:
            if pair is not None and [v.id for v in pair] != [v.id for v in before]:
                main.stages.compare(*pair)

        names = main.workspace.names_among(variants)
        screen = cls(variants, names, table.facts, table.text_under_cursor, before, current)
        main.app.push_screen(screen, compare)

    def __init__(
        self,
        variants: Sequence[Variant],
        names: Mapping[int, str],
        facts: FactTable,
        fact: str,
        pair: tuple[Variant, Variant],
        cursor: Variant,
    ) -> None:
        super().__init__()
        self._variants = variants
        self._facts = facts
        self._pair = pair
        self._cursor = cursor.id
        self._view = ChartView()
        self._names = names
        self._axes = list(axes(variants))
        self._axis = self._axes[0]
        self._split = self._axes[1] if len(self._axes) > 2 else ""  # 2: the axis itself and EACH
        fact_names = [kind.name for kind in chartable_facts(variants, facts.known)]
        self._fact = next((name for name in (fact, *_FIRST, *fact_names) if name in fact_names), "")

    def compose(self) -> ComposeResult:
        """Yield the title, the legend, the chart, the point under the cursor, the keys."""
        yield ChartBar(id="chart-title")
        yield ChartBar(id="chart-legend")
        yield self._view
        yield ChartBar(id="chart-point")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Draws the chart."""
        self._show()

    def _show(self) -> None:
        """Draws the facts that are known so far."""
        kinds = {kind.name: kind for kind in chartable_facts(self._variants, self._facts.known)}
        current_chart = chart(self._variants, self._facts.known, kinds[self._fact], self._axis, self._split)
        self._view.show(current_chart, (self._pair[0].id, self._pair[1].id), self._cursor)
        self.query_one("#chart-title", ChartBar).set_labels(_title(current_chart))
        self.query_one("#chart-legend", ChartBar).set_labels(list(_legend(current_chart)))
        self._describe()

    @on(ChartView.PointMoved)
    def _describe(self) -> None:
        """Describe the point under the cursor."""
        point = self._view.point
        if point is not None:
            self._cursor = point.variant.id
            self.query_one("#chart-point", ChartBar).set_labels(self._point_labels(point))

    def _point_labels(self, point: Point) -> list[Label]:
        variant = point.variant
        fact = self._facts.known.get(variant.id, {}).get(self._fact)
        value = str(fact) if fact else "not measured"
        return [
            Label(f" #{variant.id} {self._names[variant.id]} ", "name"),
            Label(f" {self._fact} {value} ", "value"),
            Label(f" {self._facts.problem(variant)} ", "problem"),
        ]

    def action_move(self, step: int) -> None:
        """Goes to the next point."""
        self._view.move(step)

    def action_fact(self, step: int) -> None:
        """Charts the next fact."""
        names = [kind.name for kind in chartable_facts(self._variants, self._facts.known)]
        self._fact = names[(names.index(self._fact) + step) % len(names)]
        self._show()

    def action_axis(self) -> None:
        """Use the next config value as the x axis; the series stay unless they have the same one."""
        self._axis = self._after(self._axis, self._axes)
        if self._split == self._axis:
            self._split = ""
        self._show()

    def action_split(self) -> None:
        """Use the next config value, or none, for the series."""
        self._split = self._after(self._split, ["", *(n for n in self._axes if n not in (self._axis, EACH))])
        self._show()

    def action_mark(self, letter: str) -> None:
        """Make the variant under the cursor A or B."""
        point = self._view.point
        if point is not None:
            a, b = self._pair
            self._pair = (point.variant, b) if letter == "a" else (a, point.variant)
            self._show()

    def action_explain(self) -> None:
        """Explains the fact."""
        explain_line(self.app, self._fact, of_view=True)

    def action_close(self) -> None:
        """Return to the texts with A and B."""
        self.dismiss(self._pair)

    @staticmethod
    def _after(name: str, names: Sequence[str]) -> str:
        return names[(names.index(name) + 1) % len(names)]


def _title(shown: Chart) -> list[Label]:
    kind = shown.kind
    over = "variants, best first" if shown.axis == EACH else shown.axis
    by = f", by {shown.split}" if shown.split else ""
    best = "highest" if kind.better == "high" else "lowest"
    joined = f"; lines join the {best}" if shown.crowded and shown.axis != EACH else ""
    return [
        Label(f" {kind.title} ", "fact"),
        Label(f" over {over}{by} ", "name"),
        Label(f" {kind.description}{joined}", "note"),
    ]


def _legend(shown: Chart) -> Sequence[Label]:
    """Return the mark of each series, and other signs in use."""
    labels = []
    if shown.split:
        labels.append(Label(f" {shown.split}: ", "note"))
        for number, series in enumerate(shown.series):
            mark = MARKS[number % len(MARKS)]
            labels.append(Label(f" {mark} {series.value} ", f"series--{number % COLORS}"))
    if any(point.trouble for point in shown.points):
        labels.append(Label("  ! failed or cannot be launched ", "problem"))
    return labels
