"""`irscope report`: the whole page in one file, which loads nothing else.

Chooses the stages and the number of table rows that a page has room for.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files

from irscope import __version__
from irscope.document.html.chart_svg import chart_payload, charts_anchor, fact_charts, has_charts
from irscope.document.html.facts_table import facts_table
from irscope.document.html.markup import Html, element, joined
from irscope.document.html.pair_section import pair_anchor, pair_data, pair_section
from irscope.document.report_content import CaptureReport, PairReport
from irscope.model import Toolchain
from irscope.workspace import TableSection

# The most rows of all tables, which browsers still lay out fast, and the fewest of one.
_MAX_ROWS, MIN_ROWS = 2000, 20
# The bytes of a cell and of the rest of a row, as measured on sweeps; links, names and notes vary.
_CELL, _ROW = 60, 260


class Stages:
    """The stages of a report's pairs whose data fit into `room` bytes; the largest are left out first.

    `pairs` are the pairs with the stages that stay, `left_out` the names of the others, per pair.
    """

    def __init__(self, report: CaptureReport, room: int) -> None:
        self.pairs = list(report.pairs)
        self.left_out: list[list[str]] = [[] for _ in report.pairs]
        self._data = [
            dict(zip(pair.shown, pair_data(pair, number), strict=True))
            for number, pair in enumerate(report.pairs, 1)
        ]
        while self._size() > room and self.drop():
            pass

    def data(self, number: int, pair: PairReport) -> Sequence[Html]:
        """Return the data of the remaining stages of pair `number`, which counts from 1."""
        return [self._data[number - 1][stage] for stage in pair.shown]

    def drop(self) -> bool:
        """Leave out the largest stage. Return False if there is none."""
        sizes = [
            (len(data), number, name)
            for number, stages in enumerate(self._data)
            for name, data in stages.items()
        ]
        if not sizes:
            return False
        _, number, stage = max(sizes)
        del self._data[number][stage]
        pair = self.pairs[number]
        self.pairs[number] = replace(pair, shown=[name for name in pair.shown if name != stage])
        self.left_out[number].append(stage)
        return True

    def _size(self) -> int:
        return sum(len(data) for stages in self._data for data in stages.values())


def most_rows(sections: Sequence[TableSection]) -> int:
    """Return the most rows, or points of charts, per section."""
    return max(MIN_ROWS, _MAX_ROWS // max(1, len(sections)))


def fitting_rows(sections: Sequence[TableSection], room: int) -> int:
    """Return the most rows per table with which all tables have about `room` bytes."""
    most = most_rows(sections)
    width = 0
    for section in sections:
        view = replace(section, variants=section.variants[:most]).showing()
        columns = len(view.configs) + len(view.varying(view.fact_columns))
        width = max(width, _ROW + _CELL * columns)
    rows = sum(min(len(section.variants), most) for section in sections)
    return most if rows * width <= room or not sections else max(MIN_ROWS, room // width // len(sections))


# Mail and issue trackers take files of this size; a page says what it leaves out to stay below it.
MAX_BYTES = 5_000_000
# The share of the data of stages, and of tables; the rest is for charts, findings, sources and layouts.
_STAGES, _TABLES = 2_400_000, 1_800_000


def report_html(report: CaptureReport) -> str:
    """Return the page.

    Text of the capture is escaped; script and style are the files next to this module. Stages and
    rows that would make it larger than MAX_BYTES are left out; the page says which.
    """
    style = own_file("report.css")
    script = joined(own_file(name) for name in ("diff.js", "charts.js", "report.js"))
    stages = Stages(report, _STAGES)
    rows = fitting_rows(report.sections, _TABLES)
    while True:
        body = _body(report, stages, rows)
        page = page_html(f"{report.title}: irscope report", style, script, body)
        if len(page.encode()) < MAX_BYTES or not (stages.drop() or rows > MIN_ROWS):
            return page
        rows = max(MIN_ROWS, rows * 3 // 4)


def _body(report: CaptureReport, stages: Stages, rows: int) -> list[Html]:
    """Return the content of the page with the stages that fit, and at most `rows` rows per table."""
    pairs = list(enumerate(stages.pairs, 1))
    charted = max(rows, most_rows(report.sections))
    sections = [
        (number, section, report.shown(section, rows), report.shown(section, charted))
        for number, section in enumerate(report.sections, 1)
    ]
    ids = [(pair.comparison.a.id, pair.comparison.b.id) for pair in report.pairs]
    return [
        _header(report),
        element(
            "main",
            *(_section(report, *parts) for parts in sections),
            *_devices(report),
            *(
                pair_section(pair, number, title, stages.left_out[number - 1])
                for (number, pair), title in zip(pairs, report.pair_titles, strict=True)
            ),
        ),
        _footer(report),
        *(
            chart_payload(charted, f"{charts_anchor(number)}-data", ids, report.capture)
            for number, _, _, charted in sections
            if has_charts(charted)
        ),
        *(data for number, pair in pairs for data in stages.data(number, pair)),
    ]


def page_html(title: str, style: Html, script: Html, body: Iterable[Html]) -> str:
    """Return a whole page that may run only this script and load nothing."""
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    ]
    page = element(
        "html",
        element("head", *head),
        element("body", *body, element("script", script)),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def own_file(name: str) -> Html:
    """Read a file of this package, unescaped."""
    return Html((files(__package__) / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy that allows only this style and script, and no requests."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    styles, scripts = (f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; style-src {styles}; script-src {scripts}; base-uri 'none'; form-action 'none'"
    )


def _header(report: CaptureReport) -> Html:
    links = [
        *((f"#table{number}", section.title) for number, section in enumerate(report.sections, 1)),
        *([("#devices", _DEVICES)] if report.devices else ()),
        *(
            (
                f"#{pair_anchor(number)}",
                f"Variant {title}" if pair.comparison.single else f"Pair {number}: {title}",
            )
            for number, (pair, title) in enumerate(zip(report.pairs, report.pair_titles, strict=True), 1)
        ),
    ]
    return element(
        "header",
        element(
            "div",
            element("button", "Print", type="button", class_="print scripted"),
            element("button", "Dark or light", type="button", class_="theme scripted"),
            class_="page-tools",
        ),
        element("h1", report.title),
        element("p", f"{report.capture}: {report.summary}"),
        element(
            "nav",
            element("ul", *(element("li", element("a", title, href=to)) for to, title in links)),
            aria_label="Contents",
        ),
        element("noscript", element("p", _WITHOUT_SCRIPT, class_="quiet")),
    )


_DEVICES = "Other devices"
_WITHOUT_SCRIPT = "JavaScript is disabled: tables cannot be sorted, charts have one axis, and diffs are cut."


def _section(
    report: CaptureReport, number: int, section: TableSection, shown: TableSection, charted: TableSection
) -> Html:
    """Return a section with the variants of its table, and those of its charts."""
    return element(
        "section",
        element("h2", element("code", section.kernel), f" {section.target}"),
        *([element("p", section.origin)] if section.origin else ()),
        *_omission(section, shown, charted),
        facts_table(shown, report.pairs_of, len(shown.variants) == len(section.variants)),
        fact_charts(charted, number),
        id=f"table{number}",
    )


def _devices(report: CaptureReport) -> list[Html]:
    """Return the section about other devices, if there is any."""
    if not report.devices:
        return []
    from irscope.document.device_content import device_content
    from irscope.document.html.document_html import document_elements

    content = document_elements(device_content(report.devices))
    return [element("section", element("h2", _DEVICES), *content, id="devices")]


def _omission(section: TableSection, shown: TableSection, charted: TableSection) -> list[Html]:
    """Return the sentence about the variants that the page does not have."""
    every, rows, points = (len(subset.variants) for subset in (section, shown, charted))
    if rows == every:
        return []
    charts = "; the charts have all" if points == every else f"; the charts have {points:,}"
    text = (
        f"Left out: {every - rows:,} of {every:,} variants. The table has those of the pairs and the first "
        f"others{charts}. irscope table --format csv has all, --kernel and --target select."
    )
    return [element("p", text, class_="left-out")]


def _footer(report: CaptureReport) -> Html:
    lines = [element("li", _toolchain(toolchain)) for toolchain in report.toolchains]
    return element(
        "footer",
        element("ul", *lines),
        element("p", f"Written by irscope {__version__}. The facts are read from the compiler's output."),
    )


def _toolchain(toolchain: Toolchain) -> Html:
    versions = ", ".join(f"{name} {version}" for name, version in toolchain.versions.items())
    return joined([f"{versions}: ", element("code", toolchain.command)] if toolchain.command else [versions])
