"""The whole page: one file that needs nothing else, and asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from irscope import __version__
from irscope.model import Toolchain
from irscope.report.html.markup import Html, element, joined
from irscope.report.html.pair import pair_anchor, pair_data, pair_section
from irscope.report.html.plots import plots
from irscope.report.html.table import facts_table
from irscope.report.report import Report
from irscope.workspace.table import TableSection


def report_html(report: Report) -> str:
    """The page. Text of the capture is in it as text; script and style are the files beside this one."""
    style, script = _own("report.css"), joined([_own("diff.js"), _own("report.js")])
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{report.title}: irscope report"),
        element("style", style),
    ]
    pairs = list(enumerate(report.comparisons, 1))
    body = [
        _header(report),
        element(
            "main",
            *(_section(report, section, number) for number, section in enumerate(report.sections, 1)),
            *(
                pair_section(comparison, number, title)
                for (number, comparison), title in zip(pairs, report.pair_titles, strict=True)
            ),
        ),
        _footer(report),
        *(data for number, comparison in pairs for data in pair_data(comparison, number)),
        element("script", script),
    ]
    page = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _own(name: str) -> Html:
    """A file of this package, which is markup as it stands."""
    return Html((files(__package__) / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """A Content-Security-Policy under which only this style and this script count, and nothing is fetched."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    styles, scripts = (f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; style-src {styles}; script-src {scripts}; base-uri 'none'; form-action 'none'"
    )


def _header(report: Report) -> Html:
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


_WITHOUT_SCRIPT = "Without JavaScript: no sorting, and of each diff what fits."


def _section(report: Report, section: TableSection, number: int) -> Html:
    return element(
        "section",
        element("h2", element("code", section.kernel), f" {section.target}"),
        facts_table(section, report.pairs),
        plots(section, number),
        id=f"table{number}",
    )


def _footer(report: Report) -> Html:
    made = [element("li", _made(toolchain)) for toolchain in report.toolchains]
    return element(
        "footer",
        element("ul", *made),
        element("p", f"Written by irscope {__version__}. Facts are read from what the compiler left."),
    )


def _made(toolchain: Toolchain) -> Html:
    versions = ", ".join(f"{name} {version}" for name, version in toolchain.versions.items())
    return joined([f"{versions}: ", element("code", toolchain.command)] if toolchain.command else [versions])
