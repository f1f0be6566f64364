"""A comment on a pull request: the outcome, the worst five variants, the others collapsed, a link.

Everything from a capture is in code spans: GitHub turns `#3` and `@name` elsewhere into links and mentions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote, urlsplit

from irscope.document.ci.problems import CiReport, Row
from irscope.model import UserError
from irscope.model.text import code, one_line

_WORST = 5
# GitHub refuses comments of more than 65,536 characters.
_MAX_CHARACTERS = 60_000
_MAX_NOTES = 20


def markdown_lines(report: CiReport, url: str | None = None) -> Iterator[str]:
    """Yield the lines of the comment; `url` is the address of a full report."""
    yield f"### {report.command}: {'failed' if report.failed else 'passed'}"
    yield from ("", code(report.summary))
    if report.errors:
        yield ""
        yield from (f"- {code(f'{file}: {reason}' if file else reason)}" for file, reason in report.errors)
    if report.rows:
        yield ""
        yield from _table(report.rows[:_WORST])
    if rest := report.rows[_WORST:]:
        yield from _details(f"{len(rest):,} more", _table(rest))
    if report.notes:
        notes = [f"- {code(note)}" for note in report.notes[:_MAX_NOTES]]
        if len(report.notes) > _MAX_NOTES:
            notes.append(f"- {len(report.notes) - _MAX_NOTES} more")
        yield from _details("Not matched, and edits", notes)
    if url:
        yield from ("", f"[Full report]({checked_url(url)})")


def checked_url(url: str) -> str:
    """`url` for a Markdown link. Raises UserError if it is not an http or https address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UserError(f"--report-url: '{one_line(url)}' is not an http or https address")
    return quote(url, safe=":/?#@!$&'*+,;=%-._~")


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield "| where | condition | which | result |"
    yield "| --- | --- | --- | --- |"
    size = 0
    for index, row in enumerate(rows):
        line = f"| {' | '.join(map(code, row))} |"
        size += len(line)
        if size > _MAX_CHARACTERS:
            yield ""
            yield f"{len(rows) - index} more are omitted; the JSON has all"
            return
        yield line


def _details(title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{title}</summary>", "")
    yield from lines
    yield from ("", "</details>")
