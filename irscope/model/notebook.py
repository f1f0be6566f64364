"""HTML of values in a notebook: escaped paragraphs, lists and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irscope.model.text import one_line

# A notebook shows at most this many rows of a table; the value has all.
MAX_ROWS = 100


def html_text(text: str, *, bold: bool = False) -> str:
    """Return `text` as escaped HTML on one line."""
    from html import escape  # here: its table of entities takes a millisecond, and only notebooks need it

    shown = escape(one_line(text))
    return f"<b>{shown}</b>" if bold else shown


def html_paragraph(text: str, *, bold: bool = False) -> str:
    """Return a paragraph."""
    return f"<p>{html_text(text, bold=bold)}</p>"


def html_list(texts: Iterable[str], *, ordered: bool = False) -> str:
    """Return a list; "" without items."""
    items = "".join(f"<li>{html_text(text)}</li>" for text in texts)
    tag = "ol" if ordered else "ul"
    return f"<{tag}>{items}</{tag}>" if items else ""


def html_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with at most MAX_ROWS rows of HTML cells, and how many rows it leaves out."""
    heading = "".join(f"<th>{html_text(title)}</th>" for title in titles)
    lines = ("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[:MAX_ROWS])
    rest = html_paragraph(f"and {len(rows) - MAX_ROWS:,} more") if len(rows) > MAX_ROWS else ""
    return f"<table><tr>{heading}</tr>{''.join(lines)}</table>{rest}"
