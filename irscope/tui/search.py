"""What is searched for in a page, and where it is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from irscope.tui.page import Page


class Search:
    """A query and the rows that have it, kept in step with the page on show."""

    def __init__(self) -> None:
        self.query = ""
        self.rows: Sequence[int] = ()
        self.origin = 0

    def look(self, page: Page, located: bool, query: str | None = None) -> None:
        """Finds the query (a new one, where given) in a page; in locations too where `located`."""
        self.query = self.query if query is None else query
        self.rows = page.matches(self.query, located) if self.query else ()

    def first(self) -> int | None:
        """The first row that has it, from where the search began; around the end."""
        return self.rows[bisect_left(self.rows, self.origin) % len(self.rows)] if self.rows else None

    def beside(self, row: int, direction: int) -> int | None:
        """The next (1) or previous (-1) row that has it; around the end."""
        if not self.rows:
            return None
        place = bisect_right(self.rows, row) if direction > 0 else bisect_left(self.rows, row) - 1
        return self.rows[place % len(self.rows)]

    def __str__(self) -> str:
        """`41 lines with ld.global`; "" where nothing is searched for."""
        return f"{len(self.rows):,} lines with {self.query}" if self.query else ""
