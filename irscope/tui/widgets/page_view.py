"""The position in a page: the screen lines of its rows, folds, one column or two, and the cursor."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from irscope.tui.page import LineKind, PageSide, ScreenLayout, line_of, plain_page
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.search_bar import next_row

# In fewer cells, two columns would show less than 40 characters of each line.
UNIFIED_BELOW = 100
_LINE = re.compile(r"([abAB]?) *([0-9]{1,9})")


class PageView(LineView):
    """Lays out a Page and moves the cursor in it; a subclass draws it."""

    NUMBERED = "line (of B; a12 is line 12 of A)"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.page = plain_page(PageSide([]), None)
        # Whether the user chose one column; None: the width decides.
        self.chosen_unified: bool | None = None
        self._folded = True
        # The first rows of the folds that the user opened.
        self._opened: set[int] = set()
        self._layout = ScreenLayout(self.page, False, False)

    # For subclasses.

    def laid_out(self) -> None:
        """Drop what depends on the layout, which has changed."""

    def moved(self) -> None:
        """Follows a jump of the cursor."""

    # The page.

    @property
    def unified(self) -> bool:
        """Return True if there is one column: as the user chose, else if the panel is narrow."""
        return self.outer_size.width < UNIFIED_BELOW if self.chosen_unified is None else self.chosen_unified

    # The cursor.

    @property
    def row(self) -> int:
        """Return the row under the cursor."""
        return self._layout[self.cursor].row if self.cursor < len(self._layout) else 0

    @property
    def position(self) -> int:
        """Return the row under the cursor: a search counts rows."""
        return self.row

    def landmarks(self) -> Sequence[int]:
        """Return the first rows of the changes."""
        return [first for first, _ in self.page.runs]

    @property
    def place(self) -> tuple[int, bool]:
        """Return the line under the cursor, and whether it is B's; A's if both sides have one."""
        if not self.page.rows:
            return 0, False
        row = self.page.rows[self.row]
        return (row.left, False) if row.left is not None else (row.right or 0, True)

    def go_to_row(self, row: int) -> None:
        """Move the cursor to a row, and unfolds it."""
        index = self._layout.find(row)
        if self._at_fold(index):
            self._open(index)
            index = self._layout.find(row)
        self.reveal_centered(index)
        self.cursor = index
        self.moved()

    def go_to_line(self, line: int, right: bool) -> None:
        """Move the cursor to a line of one side."""
        self.go_to_row(self.page.row_of(line, right))

    def go_to_number(self, text: str) -> bool:
        """Move the cursor to a line of B, or of A: `a12` is its line 12; False if there is none."""
        match = _LINE.fullmatch(text)
        right = self.page.right is not None and (match is None or match[1].lower() != "a")
        side = (self.page.right if right else None) or self.page.left
        line = side.line_numbered(int(match[2])) if match else None
        if line is not None:
            self.go_to_line(line, right)
        return line is not None

    def go_to_change(self, direction: int) -> bool:
        """Move the cursor to the next (1) or previous (-1) change; False if there is none."""
        row = next_row(self.landmarks(), self.row, direction)
        if row is not None:
            self.go_to_row(row)
        return row is not None

    def change_number(self) -> int:
        """Return the number of changes that start at the cursor or above it."""
        return bisect_left(self.page.runs, (self.row + 1,))

    def line_of(self, right: bool) -> int | None:
        """Return the line (from 0) of B, or of A, under the cursor; None if it has none."""
        if not self.page.rows:
            return None
        return line_of(self.page.rows[self.row], right)

    def line_text(self, right: bool) -> str | None:
        """Return the text under the cursor: B's, or A's; the other one if that side has none."""
        if not self.page.rows:
            return None
        row = self.page.rows[self.row]
        mine, theirs = (self.page.text(row, side) for side in (right, not right))
        return theirs if mine is None else mine

    def definitions(self) -> list[str]:
        """Return the definitions of the layouts named under the cursor, with the variants that have them."""
        page, owners = self.page, dict[str, str]()
        for letter, side in zip("AB", (page.left, page.right), strict=True):
            line = self.line_of(letter == "B")
            for text in side.definitions(line) if side and line is not None else ():
                owners[text] = owners.get(text, "") + letter
        by_name = sorted(owners, key=lambda text: text.split()[0])
        return [f"{', '.join(owners[text])}: {text}" if page.right else text for text in by_name]

    # Layout.

    def line_count(self) -> int:
        """Return the number of screen lines; a fold is one."""
        return len(self._layout)

    def toggle_unified(self) -> None:
        """Switches between two columns and one."""
        self.chosen_unified = not self.unified
        self._lay_out(*self.place)

    def toggle_folded(self) -> None:
        """Folds or shows equal rows."""
        self._folded = not self._folded
        self._opened.clear()
        self._lay_out(*self.place)

    def _lay_out(self, line: int, right: bool) -> None:
        """Lays the page out, with the cursor on a line at its previous height on the screen."""
        below = self.cursor - self.scroll_offset.y
        self._layout = ScreenLayout(self.page, self.unified, self._folded, self._opened)
        self.laid_out()
        cursor = self._layout.find(self.page.row_of(line, right))
        self.set_reactive(PageView.cursor, cursor)
        self.lines_changed()
        self._scroll(cursor - below)
        self.reveal(cursor)
        self.post_message(self.CursorMoved(self))

    def _at_fold(self, index: int) -> bool:
        return index < self.line_count() and self._layout[index].kind is LineKind.FOLD

    def _open(self, index: int) -> None:
        self._opened.add(self._layout[index].row)
        self._lay_out(*self.place)
