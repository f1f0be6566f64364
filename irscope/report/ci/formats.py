"""One report in each format for continuous integration."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.report.ci.github import github_lines
from irscope.report.ci.junit import junit_lines
from irscope.report.ci.markdown import markdown_lines
from irscope.report.ci.problems import CiReport
from irscope.report.ci.sarif import sarif_document
from irscope.report.json.records import to_json


def ci_lines(report: CiReport, form: str, url: str | None = None) -> Iterator[str]:
    """The lines of `report` as "github", "junit", "sarif" or "markdown"; `url` is that of a full report."""
    if form == "github":
        return github_lines(report)
    if form == "junit":
        return junit_lines(report)
    if form == "sarif":
        return iter(to_json(sarif_document(report)).splitlines())
    return markdown_lines(report, url)
