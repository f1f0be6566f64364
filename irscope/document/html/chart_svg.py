"""Facts over configs: charts as SVG for browsers without a script, and the place where the script draws.

Which facts of a section are drawn, over what, with which marks, and how their axes are labeled.

The variants of a section as data for the script, which draws charts of any two of their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from irscope.document.html.facts_table import variant_anchor
from irscope.document.html.markup import Html, element, joined, payload
from irscope.model.text import clipped
from irscope.workspace import Chart, FactColumn, FactKind, Point, TableSection, TableView
from irscope.workspace.charts import EACH, axes, axis_scale, chart, chartable_facts, lines_text, plotted

# The facts that are drawn if they vary, in this order.
_DRAWN = ("ms", "estimate", "registers", "stack", "occupancy", "shared", "instructions", "seconds")
# The mark of each series around (0, 0): series differ in shape as well as in color. Then that of a variant
# with a problem.
MARKS = (
    "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0",
    "M-3,-3h6v6h-6z",
    "M0,-4L4,3H-4z",
    "M0,-4.5L4.5,0L0,4.5L-4.5,0z",
    "M0,4L4,-3H-4z",
    "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
)
PROBLEM_MARK = "M-3,-3L3,3M-3,3L3,-3"
_MOST_STEPS = 4
# Units that the title or the labels already contain.
_IMPLIED_UNITS = ("", "fraction", "milliseconds", "registers", "instructions")
_BETTER = {"low": "lower is better", "high": "higher is better"}


def charted_kinds(section: TableSection) -> list[FactKind]:
    """Return the facts to draw first: those of most interest that vary."""
    variants = [entry.variant for entry in section.entries]
    facts = {entry.variant.id: entry.facts for entry in section.entries}
    kinds = [
        kind for kind in chartable_facts(variants, facts) if kind.name in _DRAWN and _varies(section, kind)
    ]
    return sorted(kinds, key=lambda kind: _DRAWN.index(kind.name))


def split_of(section: TableSection, axis: str) -> str:
    """Return the axis that splits a chart into series, or "" if there is none.

    It is the last axis other than `axis` that has few values.
    """
    variant_axes = axes([entry.variant for entry in section.entries])
    for name in reversed(variant_axes):
        if name in (axis, EACH):
            continue
        values = {repr(variant_axes[name](entry.variant)) for entry in section.entries}
        if 1 < len(values) <= len(MARKS):
            return name
    return ""


def axis_title(axis: str) -> str:
    """Return the title of a horizontal axis."""
    return "each variant, best first" if axis == EACH else axis


def about(kind: FactKind) -> str:
    """Return the title of the vertical axis of a chart: `Shared, bytes; lower is better`."""
    title = kind.title if kind.unit in _IMPLIED_UNITS else f"{kind.title}, {kind.unit}"
    better = _BETTER.get(kind.better, "")
    return f"{title}; {better}" if better else title


def ticks_of(numbers: Sequence[float], unit: str) -> list[tuple[float, str]]:
    """Return the round values that label an axis of these numbers, with their labels.

    The axis ends at the first and the last one.
    """
    if not numbers:
        return []
    scale = axis_scale(min(numbers), max(numbers), _MOST_STEPS)
    return [(value, scale.label(value, unit)) for value in scale.values()]


def _varies(section: TableSection, kind: FactKind) -> bool:
    return len({entry.value(kind.name) for entry in section.entries} - {None}) > 1


# With hundreds of variants, the page would otherwise have more points than table cells.
_MAX_POINTS = 800
# The size of the picture in its own units, and the margins for labels.
_WIDTH, _HEIGHT = 340, 204
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 10, 40
_TICK_LABELS = 12
_SERIES_GAP = 5


def charts_anchor(number: int) -> str:
    """Return the id of the charts of a section; that of their data ends with `-data`."""
    return f"charts{number}"


def has_charts(section: TableSection) -> bool:
    """Return True if any fact that is drawn varies."""
    return len(section.entries) > 1 and bool(charted_kinds(section))


def fact_charts(section: TableSection, number: int) -> Html:
    """Draw the charts of a section, or return "" if nothing varies.

    In a browser without a script, they are over the first axis.
    """
    if not has_charts(section):
        return Html()
    kinds = charted_kinds(section)
    points = _MAX_POINTS // max(1, len(section.entries))
    return element(
        "div",
        element("h3", "Charts"),
        element("noscript", _static(section, kinds[:points])),
        id=charts_anchor(number),
        class_="plots",
    )


def _static(section: TableSection, kinds: Sequence[FactKind]) -> Html:
    """Draw the charts of `kinds` over the first axis, with a sentence on what their lines join."""
    variants = [entry.variant for entry in section.entries]
    facts = {entry.variant.id: entry.facts for entry in section.entries}
    axis = next(iter(axes(variants)))
    split = split_of(section, axis)
    charts = [chart(variants, facts, kind, axis, split) for kind in kinds]
    if not charts:
        return element("p", "Enable JavaScript to see charts of this many variants.", class_="quiet")
    legend = [_legend(charts[0])] if split else []
    figures = [
        element("figure", element("figcaption", about(fact_chart.kind)), _drawn(fact_chart))
        for fact_chart in charts
    ]
    lines = lines_text(variants, axis, split)
    return joined([*legend, element("p", lines, class_="quiet"), element("div", *figures, class_="charts")])


def _legend(found: Chart) -> Html:
    marks = [
        joined(
            [
                element("svg", _mark(index, 7, 7), viewBox="0 0 14 14", class_="key", aria_hidden="true"),
                f"{series.value} ",
            ]
        )
        for index, series in enumerate(found.series)
    ]
    return element("p", f"{found.split}: ", *marks, class_="quiet legend")


def _drawn(found: Chart) -> Html:
    """Draw the chart: grid and labels, the lines, then the points, each linked to its table row."""
    picture = _Picture(found)
    return element(
        "svg",
        *picture.grid(),
        *picture.lines(),
        *picture.points(),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="group",
        aria_label=f"{found.kind.title} over {axis_title(found.axis)}",
    )


class _Picture:
    """The coordinates of a chart's elements."""

    def __init__(self, found: Chart) -> None:
        self._chart = found
        self._labels = ticks_of([point.y for point in found.points if point.y is not None], found.kind.unit)
        self._low, self._high = self._labels[0][0], self._labels[-1][0]
        self._width = (_WIDTH - _LEFT - _RIGHT) / len(found.ticks)
        self._offset = min(_SERIES_GAP, self._width / (len(found.series) + 1))

    def grid(self) -> Iterator[Html]:
        """Yield a line and a label per round value, the labels of the ticks, and the title of their axis."""
        for value, label in self._labels:
            y = self._y(value)
            yield element("path", d=f"M{_LEFT},{y:g}H{_WIDTH - _RIGHT}", class_="grid")
            yield element("text", label, x=_LEFT - 6, y=f"{y + 4:g}", class_="end")
        every = -(-len(self._chart.ticks) // _TICK_LABELS)
        for tick, text in enumerate(self._chart.ticks):
            if tick % every == 0:
                yield element("text", clipped(text, 14), x=f"{self._x(tick, 0):g}", y=_HEIGHT - 24)
        title = clipped(axis_title(self._chart.axis), 40)
        yield element("text", title, x=(_LEFT + _WIDTH - _RIGHT) / 2, y=_HEIGHT - 7, class_="axis")

    def lines(self) -> Iterator[Html]:
        """Yield a line per series through the best point of each tick."""
        for index, series in enumerate(self._chart.series):
            corners = "L".join(f"{self._x(tick, index):.4g},{self._y(y):.4g}" for tick, y in series.line)
            if len(series.line) > 1:
                yield element("path", d=f"M{corners}", class_=f"line s{index % len(MARKS)}")

    def points(self) -> Iterator[Html]:
        """Yield a mark per variant, crossed out if it failed or cannot be launched."""
        for index, series in enumerate(self._chart.series):
            for point in series.points:
                if point.y is not None:
                    yield element("a", self._mark(point, index), href=f"#{variant_anchor(point.variant.id)}")

    def _mark(self, point: Point, place: int) -> Html:
        number = point.y or 0.0
        x, y = self._x(point.tick, place), self._y(number)
        problem = f", {point.trouble}" if point.trouble else ""
        value = self._chart.kind.format(int(number) if number.is_integer() else number)
        title = element("title", f"#{point.variant.id} {point.variant.config}: {value}{problem}")
        return _mark(None if point.trouble else place, x, y, title)

    def _x(self, tick: int, series: int) -> float:
        """Return the center of a tick, shifted so that series do not hide each other."""
        middle = (len(self._chart.series) - 1) / 2
        return _LEFT + (tick + 0.5) * self._width + (series - middle) * self._offset

    def _y(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _mark(series: int | None, x: float, y: float, *children: Html) -> Html:
    """Draw the mark of a series, or with None the mark of a variant with a problem."""
    shape = PROBLEM_MARK if series is None else MARKS[series % len(MARKS)]
    name = "mark trouble" if series is None else f"mark s{series % len(MARKS)}"
    return element("path", *children, d=shape, transform=f"translate({x:.4g},{y:.4g})", class_=name)


def chart_payload(
    section: TableSection, identity: str, pairs: Sequence[tuple[int, int]], capture: str
) -> Html:
    """Return the element with the data of a section's charts.

    `pairs` are the ids of the variants of the report's pairs, in order. The JSON:

    - `capture`: the name of the file; `pairs`: `[number from 1, A's id, B's id]` of those in the
      section;
    - `variants`: `[id, name, problem]`; `config`: `[name, text per variant]` of each value that
      varies;
    - `axes`: `{name, ticks, of}`, with the index of the tick of each variant; `split` is the axis
      that splits charts over the first one ("" for none);
    - `facts`: `{name, title, about, better, values, texts, ticks}`: a number or null per variant,
      and the `[number, label]` of its axis, from end to end; `main` are the names of those that
      are shown first;
    - `marks`: the path of each series' mark, `trouble` that of a variant with a problem.
    """
    view = TableView.of_section(section)
    variant_ids = {entry.variant.id for entry in section.entries}
    names = [name for name in axes([entry.variant for entry in section.entries]) if name != EACH]
    return payload(
        identity,
        {
            "capture": capture,
            "pairs": [[n, a, b] for n, (a, b) in enumerate(pairs, 1) if {a, b} <= variant_ids],
            "variants": [[entry.variant.id, entry.name, entry.problem] for entry in section.entries],
            "config": [
                [config_column.name, [cell.text for cell in config_column.cells]]
                for config_column in view.configs
            ],
            "axes": [_axis(section, name) for name in names],
            "split": split_of(section, names[0]) if names else "",
            "facts": [_fact(column) for column in view.varying_facts if not column.kind.minor],
            "main": [kind.name for kind in charted_kinds(section)],
            "marks": MARKS,
            "trouble": PROBLEM_MARK,
        },
    )


def _axis(section: TableSection, name: str) -> dict[str, Any]:
    """Return an axis with its ticks in order, as `chart` has them."""
    variants = [entry.variant for entry in section.entries]
    axis_chart = chart(variants, {}, _NO_FACT, name)
    ticks = {point.variant.id: point.tick for point in axis_chart.points}
    return {"name": name, "ticks": axis_chart.ticks, "of": [ticks[variant.id] for variant in variants]}


_NO_FACT = FactKind("", "", "", "", "")


def _fact(column: FactColumn) -> dict[str, Any]:
    kind = column.kind
    values = [plotted(cell.value) for cell in column.cells]
    return {
        "name": kind.name,
        "title": kind.title,
        "about": about(kind),
        "better": kind.better,
        "values": values,
        "texts": [cell.text for cell in column.cells],
        "ticks": ticks_of([value for value in values if value is not None], kind.unit),
    }
