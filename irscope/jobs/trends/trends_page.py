"""`irscope trends`: the page of trends in one file, which loads nothing else.

A small line chart as SVG: a step per commit, a mark where the value changes, gaps where it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from irscope import __version__
from irscope.document.html.markup import Html, element, joined, table
from irscope.document.html.report_page import own_file, page_html
from irscope.jobs.trends.trends import TRENDS, KernelTrend, Trends, TrendSeries, TrendStep
from irscope.workspace import FactKind, FactValue

_WIDTH, _HEIGHT, _MARGIN = 280, 40, 5
# More marks than pixels are of no use; the lines stay.
_MAX_MARKS = 120


def sparkline(
    values: Sequence[FactValue], labels: Sequence[str], words: str, form: Callable[[FactValue], str]
) -> Html:
    """Return a chart of values; `labels` name their places, `words` describe it to screen readers."""
    numbers = [value if isinstance(value, int | float) else None for value in values]
    known = [number for number in numbers if number is not None]
    if not known:
        return element("p", "no values", class_="quiet")
    low, high = min(known), max(known)

    def x(index: float) -> float:
        return round(_MARGIN + index * (_WIDTH - 2 * _MARGIN) / max(1, len(numbers) - 1), 1)

    def y(number: float) -> float:
        share = (number - low) / (high - low) if high > low else 0.5
        return round(_HEIGHT - _MARGIN - share * (_HEIGHT - 2 * _MARGIN), 1)

    path = " ".join(_path(numbers, x, y))
    marks = [
        element(
            "circle",
            element("title", f"{labels[index]}: {form(number)}"),
            cx=x(index),
            cy=y(number),
            r=3,
            class_=kind,
        )
        for index, number, kind in _marks(numbers)
    ]
    return element(
        "svg",
        element("path", d=path),
        *marks[-_MAX_MARKS:],
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=words,
        class_="spark",
    )


def _path(
    numbers: Sequence[float | None], x: Callable[[float], float], y: Callable[[float], float]
) -> Iterator[str]:
    """Horizontal steps: the value holds until the commit that changes it."""
    before: float | None = None
    for index, number in enumerate(numbers):
        if number is not None:
            if before is None:
                yield f"M{x(index)},{y(number)}"
            else:
                yield f"H{x(index)}" if number == before else f"H{x(index)}V{y(number)}"
        before = number


def _marks(numbers: Sequence[float | None]) -> Iterator[tuple[int, float, str]]:
    """Yield the first value, each that differs from the last known one, and the last."""
    before: float | None = None
    for index, number in enumerate(numbers):
        if number is None:
            continue
        if before is None or index == len(numbers) - 1 or number != before:
            kind = "same" if before is None or number == before else "rise" if number > before else "fall"
            yield index, number, kind
        before = number


_HASH = 10
_NOT_COMPILED = "not compiled"


def trends_html(trends: Trends) -> str:
    """Return the page. Everything from captures and commits is escaped."""
    style = joined([own_file("report.css"), own_file("trends.css")])
    name = trends.history.name or trends.history.folder.name
    body = [
        _header(trends, name),
        element(
            "main",
            _steps(trends),
            element("h2", "Kernels"),
            _filter(),
            *(_kernel(trends, kernel, number) for number, kernel in enumerate(trends.kernels, 1)),
            *_problems(trends),
        ),
        element(
            "footer", element("p", f"Written by irscope {__version__} from {len(trends.commits)} commits.")
        ),
    ]
    return page_html(f"{name}: irscope trends", style, own_file("trends.js"), body)


def _header(trends: Trends, name: str) -> Html:
    first, last = trends.commits[0], trends.commits[-1]
    dates = f"{first.date[:10]} to {last.date[:10]}"
    return element(
        "header",
        element("button", "Dark or light", type="button", class_="theme scripted"),
        element("h1", name),
        element("p", f"{trends.summary}; {dates}"),
        element(
            "p",
            "Each line is the largest value among the variants of a kernel, by commit. Lower is better.",
            class_="quiet",
        ),
    )


def _commit(trends: Trends, index: int) -> Html:
    """Return the short hash of a commit, linked if the repository has an address."""
    commit = trends.commits[index].commit
    short = element("code", commit[:_HASH])
    url = trends.history.url
    # The file of the history is untrusted: only addresses that the recorder writes become links.
    if url.startswith(("https://github.com/", "https://gitlab.com/")) and commit.isalnum():
        return element("a", short, href=f"{url}/commit/{commit}")
    return short


def _steps(trends: Trends) -> Html:
    """Return the commits at which something changed, newest first."""
    if not trends.steps:
        return element("section", element("h2", "Changes"), element("p", "No fact changed at any commit."))
    items = [_step(trends, step) for step in reversed(trends.steps)]
    return element("section", element("h2", "Changes"), element("ol", *items, class_="steps"), id="changes")


def _step(trends: Trends, step: TrendStep) -> Html:
    entry = trends.commits[step.index]
    lines = [
        *(_line("worse", "Worse: ", text) for text in step.worse),
        *(_line("better", "Better: ", text) for text in step.better),
        *(_line("other", "", text) for text in step.other),
        *(_line("edit", "Edit: ", text) for text in step.edits),
    ]
    title = element(
        "p", _commit(trends, step.index), f" {entry.date[:10]} ", element("strong", entry.subject)
    )
    shown, rest = lines[:_MOST_LINES], lines[_MOST_LINES:]
    more = element("details", element("summary", f"{len(rest)} more"), element("ul", *rest)) if rest else ""
    return element("li", title, element("ul", *shown), more, id=f"commit{step.index}")


_MOST_LINES = 6


def _line(kind: str, word: str, text: str) -> Html:
    return element("li", element("b", word) if word else "", text, class_=kind)


def _filter() -> Html:
    return element(
        "p",
        element("label", "Kernels containing ", element("input", type="search", id="filter")),
        " ",
        element("label", element("input", type="checkbox", id="moved"), " only those that changed"),
        element("span", id="shown", class_="quiet", role="status"),
        class_="tools scripted",
    )


def _kernel(trends: Trends, kernel: KernelTrend, number: int) -> Html:
    title = element("h3", element("code", kernel.name), " ", element("span", kernel.file, class_="quiet"))
    rows = [_series(trends, series, f"k{number}s{place}") for place, series in enumerate(kernel.series)]
    return element(
        "section",
        title,
        *rows,
        class_="kernel",
        id=f"kernel{number}",
        data_name=f"{kernel.name} {kernel.file}".lower(),
        data_moved=kernel.moved,
    )


def _series(trends: Trends, series: TrendSeries, name: str) -> Html:
    charts = [_chart(trends, series, kind) for kind in TRENDS]
    failed = series.failed[-1]
    note = (
        element("span", f" {failed} of {series.variants[-1]} do not compile", class_="bad") if failed else ""
    )
    return element(
        "div",
        element("h4", series.title, note),
        element("div", *charts, class_="charts"),
        element("details", element("summary", "Numbers"), _numbers(trends, series), id=name),
        class_="series",
    )


def _chart(trends: Trends, series: TrendSeries, kind: FactKind) -> Html:
    """Return a fact's name, its last value with the change since the first commit, and its line."""
    values = series.values[kind.name]
    known = [value for value in values if isinstance(value, int | float)]
    last = kind.format(values[-1]) if values[-1] is not None else _NOT_COMPILED
    labels = [f"{entry.commit[:_HASH]} {entry.date[:10]}" for entry in trends.commits]
    return element(
        "figure",
        element(
            "figcaption",
            f"{kind.heading} ",
            element("b", last),
            *(_change(known) if values[-1] is not None else ()),
        ),
        sparkline(values, labels, _described(kind, values, labels), kind.format),
        class_="chart",
    )


def _change(known: Sequence[float]) -> Iterator[Html]:
    """Yield the change since the first commit, with a sign as well as a color."""
    if len(known) < 2 or known[0] == known[-1]:
        return
    up = known[-1] > known[0]
    text = f"{(known[-1] - known[0]) / known[0]:+.0%}" if known[0] else f"+{known[-1]:,}"
    yield element("span", f" {'▲' if up else '▼'} {text}", class_="up" if up else "down")


def _described(kind: FactKind, values: Sequence[FactValue], labels: Sequence[str]) -> str:
    """Return the line in words: the first value, and each commit at which it changes."""
    parts, before = [], None
    for value, label in zip(values, labels, strict=True):
        if value is not None and value != before:
            parts.append(
                f"{kind.format(value)} at {label}" if before is None else f"{kind.format(value)} from {label}"
            )
            before = value
    return f"{kind.subject}: {'; '.join(parts) or _NOT_COMPILED}"


def _numbers(trends: Trends, series: TrendSeries) -> Html:
    """Return the values of each commit, newest first."""
    heading = [
        *(element("th", text, scope="col") for text in ("Commit", "Date", "Variants")),
        *(element("th", kind.heading, scope="col", class_="number") for kind in TRENDS),
    ]
    rows = []
    for index in reversed(range(len(trends.commits))):
        cells = [
            element(
                "td",
                kind.format(value) if (value := series.values[kind.name][index]) is not None else "-",
                class_="number",
            )
            for kind in TRENDS
        ]
        variants = f"{series.variants[index]}" + (
            f", {series.failed[index]} failed" if series.failed[index] else ""
        )
        row = [
            element("th", _commit(trends, index), scope="row"),
            element("td", trends.commits[index].date[:10]),
            element("td", variants),
            *cells,
        ]
        rows.append(element("tr", *row))
    numbers = table(heading, rows)
    return element("div", numbers, class_="scroll", tabindex=0, role="region", aria_label="Numbers")


def _problems(trends: Trends) -> Iterator[Html]:
    if not trends.problems:
        return
    by_text: dict[str, list[int]] = {}
    for index, text in trends.problems:
        by_text.setdefault(text, []).append(index)
    items = [
        element("li", f"{text} ", element("span", _at(trends, indexes), class_="quiet"))
        for text, indexes in by_text.items()
    ]
    yield element(
        "section",
        element("h2", "Not compiled"),
        element("details", element("summary", f"{len(items)} reasons"), element("ul", *items)),
        id="problems",
    )


def _at(trends: Trends, indexes: Sequence[int]) -> str:
    first = trends.commits[indexes[0]].commit[:_HASH]
    return f"at {first}" if len(indexes) == 1 else f"at {len(indexes)} commits, first {first}"
