"""`irscope report`: the whole page in one file, which loads nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files

from irscope import __version__
from irscope.model import Toolchain
from irscope.report.capture_report import CaptureReport
from irscope.report.html.fact_charts import fact_charts
from irscope.report.html.facts_table import facts_table
from irscope.report.html.markup import Html, element, joined
from irscope.report.html.pair_section import pair_anchor, pair_data, pair_section
from irscope.workspace import TableSection


def report_html(report: CaptureReport) -> str:
    """The page. Text of the capture is escaped; script and style are the files next to this module."""
    style, script = own_file("report.css"), joined([own_file("diff.js"), own_file("report.js")])
    pairs = list(enumerate(report.pairs, 1))
    body = [
        _header(report),
        element(
            "main",
            *(_section(report, section, number) for number, section in enumerate(report.sections, 1)),
            *(
                pair_section(pair, number, title)
                for (number, pair), title in zip(pairs, report.pair_titles, strict=True)
            ),
        ),
        _footer(report),
        *(data for number, pair in pairs for data in pair_data(pair, number)),
    ]
    return page_html(f"{report.title}: irscope report", style, script, body)


def page_html(title: str, style: Html, script: Html, body: Iterable[Html]) -> str:
    """A whole page that may run only this script and load nothing."""
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
    """A file of this package, unescaped."""
    return Html((files(__package__) / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """A Content-Security-Policy that allows only this style and this script, and no requests."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    styles, scripts = (f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; style-src {styles}; script-src {scripts}; base-uri 'none'; form-action 'none'"
    )


def _header(report: CaptureReport) -> Html:
    links = [
        *((f"#table{number}", section.title) for number, section in enumerate(report.sections, 1)),
        *(
            (f"#{pair_anchor(number)}", f"Pair {number}: {title}")
            for number, title in enumerate(report.pair_titles, 1)
        ),
    ]
    return element(
        "header",
        element("button", "Dark or light", type="button", class_="theme scripted"),
        element("h1", report.title),
        element("p", f"{report.capture}: {report.summary}"),
        element(
            "nav",
            element("ul", *(element("li", element("a", title, href=to)) for to, title in links)),
            aria_label="Contents",
        ),
        element("noscript", element("p", _WITHOUT_SCRIPT, class_="quiet")),
    )


_WITHOUT_SCRIPT = "JavaScript is disabled: tables cannot be sorted, and diffs are cut."


def _section(report: CaptureReport, section: TableSection, number: int) -> Html:
    shown = report.shown(section)
    return element(
        "section",
        element("h2", element("code", section.kernel), f" {section.target}"),
        *([element("p", section.origin)] if section.origin else ()),
        *_omission(section, shown),
        facts_table(shown, report.pairs_of),
        fact_charts(shown, number),
        id=f"table{number}",
    )


def _omission(section: TableSection, shown: TableSection) -> list[Html]:
    """The sentence about the variants that the page does not have."""
    if len(shown.entries) == len(section.entries):
        return []
    text = (
        f"The table and the charts have {len(shown.entries):,} of {len(section.entries):,} variants: those "
        "of the pairs and the first others. irscope table --format csv has all, --kernel and --target select."
    )
    return [element("p", text, class_="quiet")]


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
