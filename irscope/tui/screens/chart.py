"""The chart: a fact over what the configs differ in, a point a variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from irscope.analysis.chart_data import EACH, Chart, Point, axes, chart, chartable_facts
from irscope.model import Variant
from irscope.store import variant_names
from irscope.tui import keys
from irscope.tui.columns import FactTable, trouble
from irscope.tui.plot import COLOURS, MARKS
from irscope.tui.widgets.bar import Label
from irscope.tui.widgets.chart_view import ChartBar, ChartView
from irscope.tui.widgets.key_hints import KeyHints

# The facts to begin with where none is asked for, or has no number: times on a GPU first.
_FIRST = ("ms", "registers", "seconds")


class ChartScreen(Screen[tuple[Variant, Variant]]):
    """Returns A and B, which may be others than before. `fact` is the name of the one to begin with."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.CHART, *keys.LEAVE]

    def __init__(
        self,
        variants: Sequence[Variant],
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
        self._names = variant_names(variants)
        self._axes = list(axes(variants))
        self._axis = self._axes[0]
        self._split = self._axes[1] if len(self._axes) > 2 else ""  # 2: the axis itself and EACH
        names = [kind.name for kind in chartable_facts(variants, facts.known)]
        self._fact = next((name for name in (fact, *_FIRST, *names) if name in names), "")

    def compose(self) -> ComposeResult:
        """What it shows, the series, the chart, the point under the cursor, the keys."""
        yield ChartBar(id="chart-title")
        yield ChartBar(id="chart-legend")
        yield ChartView()
        yield ChartBar(id="chart-point")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Draws it."""
        self._show()

    def _show(self) -> None:
        """Shapes the facts that are known by now, and draws them."""
        kinds = {kind.name: kind for kind in chartable_facts(self._variants, self._facts.known)}
        shaped = chart(self._variants, self._facts.known, kinds[self._fact], self._axis, self._split)
        self.query_one(ChartView).show(shaped, (self._pair[0].id, self._pair[1].id), self._cursor)
        self.query_one("#chart-title", ChartBar).set_labels(_title(shaped))
        self.query_one("#chart-legend", ChartBar).set_labels(list(_legend(shaped)))
        self._tell()

    @on(ChartView.Moved)
    def _tell(self) -> None:
        """What is under the cursor."""
        point = self.query_one(ChartView).point
        if point is not None:
            self._cursor = point.variant.id
            self.query_one("#chart-point", ChartBar).set_labels(self._told(point))

    def _told(self, point: Point) -> list[Label]:
        variant = point.variant
        fact = self._facts.get(variant.id, self._fact)
        value = str(fact) if fact else "not measured"
        return [
            Label(f" #{variant.id} {self._names[variant.id]} ", "name"),
            Label(f" {self._fact} {value} ", "value"),
            Label(f" {trouble(variant, self._facts)} ", "trouble"),
        ]

    def action_move(self, step: int) -> None:
        """To the next point."""
        self.query_one(ChartView).move(step)

    def action_fact(self, step: int) -> None:
        """Another fact."""
        names = [kind.name for kind in chartable_facts(self._variants, self._facts.known)]
        self._fact = names[(names.index(self._fact) + step) % len(names)]
        self._show()

    def action_axis(self) -> None:
        """Another name along the x axis; the series keep theirs unless it is the same."""
        self._axis = self._after(self._axis, self._axes)
        if self._split == self._axis:
            self._split = ""
        self._show()

    def action_split(self) -> None:
        """Another name to make series by, or none."""
        self._split = self._after(self._split, ["", *(n for n in self._axes if n not in (self._axis, EACH))])
        self._show()

    def action_mark(self, letter: str) -> None:
        """The variant under the cursor becomes A or B."""
        point = self.query_one(ChartView).point
        if point is not None:
            a, b = self._pair
            self._pair = (point.variant, b) if letter == "a" else (a, point.variant)
            self._show()

    def action_close(self) -> None:
        """Back to the texts."""
        self.dismiss(self._pair)

    @staticmethod
    def _after(name: str, names: Sequence[str]) -> str:
        return names[(names.index(name) + 1) % len(names)]


def _title(shaped: Chart) -> list[Label]:
    kind = shaped.kind
    over = "variants, the best first" if shaped.axis == EACH else shaped.axis
    by = f", by {shaped.split}" if shaped.split else ""
    best = "highest" if kind.better == "high" else "lowest"
    joined = f"; lines join the {best}" if shaped.crowded and shaped.axis != EACH else ""
    return [
        Label(f" {kind.title} ", "fact"),
        Label(f" over {over}{by} ", "name"),
        Label(f" {kind.description}{joined}", "note"),
    ]


def _legend(shaped: Chart) -> Sequence[Label]:
    """Which mark is which series, and what the other signs mean where there are any."""
    labels = []
    if shaped.split:
        labels.append(Label(f" {shaped.split}: ", "note"))
        for number, one in enumerate(shaped.series):
            mark = MARKS[number % len(MARKS)]
            labels.append(Label(f" {mark} {one.value} ", f"series--{number % COLOURS}"))
    if any(point.trouble for point in shaped.points):
        labels.append(Label("  ! failed, or cannot launch ", "trouble"))
    return labels
