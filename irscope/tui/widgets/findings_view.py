"""The findings as a table, most important first: what, in A, in B, and where. A line if there is no room."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.style import Style
from textual import events
from textual.strip import Strip

from irscope.model.text import display_line, pluralize
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.paint import cell
from irscope.tui.widgets.line_view import ItemView, LineView, Piece

if TYPE_CHECKING:
    from irscope.workspace import FindingRow

_GAP = "  "
# A blank, the sign, a blank.
_LEAD = 3
# The largest shares of A and B in the width, and of the place.
_MOST_A, _MOST_B, _MOST_WHERE = 0.25, 0.4, 20
_LEAST = 12
# The styles of signs.
_INKS = {"x": "sign--failure", "=": "sign--equal", "!": "sign--severe", "•": "sign--notable"}


class _ScreenLine(NamedTuple):
    """A screen line: the finding it belongs to, and its cells; `a` is None if `what` spans A and B."""

    owner: int
    what: str
    a: str | None = None
    b: str = ""


class _Widths(NamedTuple):
    """The widths of the columns in cells."""

    what: int
    a: int
    b: int
    where: int

    @property
    def sentence(self) -> int:
        """Return the width of a sentence that spans three columns."""
        return self.what + self.a + self.b + 2 * len(_GAP)


class FindingsView(ItemView[_ScreenLine]):
    """The findings, cells wrapped; with one line of room, only the one under the cursor."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the findings",
        (
            key("enter", "choose", "Go to what the finding is about", "go there", name="jump"),
            key("a", "all_findings", "Show all findings, or the most important ones", "all"),
        ),
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "finding--where", "finding--count", "sign--failure", "sign--equal", "sign--severe", "sign--notable",
    }  # fmt: skip

    NUMBERED: ClassVar[str] = "finding number"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._all: Sequence[FindingRow] = ()
        self._main = 0  # how many of them are shown by default
        self._every = False
        self._note = ""
        self._widths = _Widths(_LEAST, _LEAST, _LEAST, _LEAST)

    @property
    def findings(self) -> Sequence[FindingRow]:
        """Return the findings that are shown."""
        return self._all if self._every else self._all[: self._main]

    @property
    def selected(self) -> int:
        """Return the finding under the cursor."""
        return self.current.owner if self.current else 0

    @property
    def row(self) -> FindingRow | None:
        """Return the finding under the cursor, or None on the line that counts the others."""
        return self.findings[self.selected] if self.selected < len(self.findings) else None

    @property
    def explained_text(self) -> str:
        """Return the sentence of the finding under the cursor."""
        return self._all[self.selected].finding.text if self._all else "finding"

    @property
    def one_line(self) -> bool:
        """Return True if there is room for one finding only."""
        return self.size.height < 2

    def set_findings(self, findings: Sequence[FindingRow], main: int = 0, note: str = "") -> None:
        """Show the first `main` findings, or all; a `note` replaces their number in the heading."""
        fresh = [row.finding for row in findings] != [row.finding for row in self._all]
        self._all, self._main, self._note = findings, main, note
        self._wrap()
        if fresh:  # what differs in a column is already on the line above
            located = (i for i, row in enumerate(self.findings) if self.one_line and row.target.line)
            self.cursor = self._first_line(next(located, 0))

    def step(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) finding; past the last one, to the first."""
        owners = len(self.findings)
        if owners:
            owner = (self.selected + direction) % owners
            self.cursor = self._first_line(owner)
            self.reveal(max(i for i, line in enumerate(self.items) if line.owner == owner))
            self.reveal(self.cursor)
            self.refresh()

    def action_down(self) -> None:
        """Move down by a line; with one line of room, to the next finding."""
        self.step(1) if self.one_line else super().action_down()

    def action_up(self) -> None:
        """Move up by a line; with one line of room, to the previous finding."""
        self.step(-1) if self.one_line else super().action_up()

    def action_all_findings(self) -> None:
        """Show all findings, or only the most important ones."""
        self._every = not self._every
        self._wrap()

    def action_choose(self) -> None:
        """Goes to what the finding under the cursor is about, or shows all findings."""
        if self.row is not None:
            super().action_choose()
        elif self.items:
            self.action_all_findings()

    def on_click(self, event: events.Click) -> None:
        """Go there on a double click."""
        if not self.one_line:
            super().on_click(event)
        elif event.chain == 2:
            self.action_choose()

    def on_resize(self) -> None:
        """Wrap the findings again."""
        self._wrap()
        super().on_resize()

    # Layout.

    def _wrap(self) -> None:
        before = self.selected
        self._widths = self._sized(self.scrollable_content_region.width)
        lines = [line for owner in range(len(self.findings)) for line in self._cells(owner)]
        if rest := len(self._all) - len(self.findings):
            lines.append(_ScreenLine(len(self.findings), pluralize(rest, "more finding")))
        self.show(lines)
        if before != self.selected:
            self.set_reactive(LineView.cursor, self._first_line(before))

    def _first_line(self, owner: int) -> int:
        return next((i for i, line in enumerate(self.items) if line.owner == owner), 0)

    def _sized(self, width: int) -> _Widths:
        """Return the columns, as wide as their content if there is room."""
        rows = [row for row in self.findings if row.a]
        where = min(max((len(row.where) for row in self.findings), default=0), _MOST_WHERE)
        room = max(width - _LEAD - where - 3 * len(_GAP), 3 * _LEAST)
        a = min(max((len(row.a) for row in rows), default=1), max(int(room * _MOST_A), _LEAST))
        b = min(max((len(row.b) for row in rows), default=1), max(int(room * _MOST_B), _LEAST))
        longest = max((len(row.what) for row in rows), default=0)
        sentence = max((len(row.what) for row in self.findings if not row.a), default=0)
        spare = room - a - b - longest
        if spare > 0:  # B has the longest texts
            b += min(spare, max((len(row.b) for row in rows), default=1) - b)
        what = min(room - a - b, max(longest, sentence - a - b - 2 * len(_GAP), _LEAST))
        return _Widths(what, a, b, where)

    def _cells(self, owner: int) -> Iterator[_ScreenLine]:
        """Yield the lines of a finding: in columns, or across them if that is shorter."""
        row, widths = self.findings[owner], self._widths
        sentence = textwrap.wrap(display_line(row.finding.text), widths.sentence) or [""]
        sizes = ((row.what, widths.what), (row.a, widths.a), (row.b, widths.b))
        columns = [textwrap.wrap(display_line(text), width) for text, width in sizes]
        height = max(map(len, columns))
        if not row.a or height > len(sentence):
            yield from (_ScreenLine(owner, line) for line in sentence)
            return
        yield from (_ScreenLine(owner, *cells) for cells in zip_longest(*columns, fillvalue=""))

    # Drawing.

    def line_numbered(self, number: int) -> int | None:
        """Return the first line of a finding, counted from 1."""
        return self._first_line(number - 1) if 0 < number <= len(self.findings) else None

    def render_line(self, y: int) -> Strip:
        """Draws a line of the panel; with one line of room, the finding under the cursor."""
        if self.one_line:
            return self._draw_one(self.scrollable_content_region.width)
        return super().render_line(y)

    def _draw_one(self, width: int) -> Strip:
        """`1/7 ! Occupancy: 50% -> 12.5%  column Occupancy`."""
        if not self.findings:
            return self.bar(self._heading_text, width)
        owner = min(self.selected, len(self.findings) - 1)
        row = self.findings[owner]
        number, where = f" {owner + 1}/{len(self.findings)} ", f"  {row.where} "
        room = max(width - len(number) - 2 - len(where), 0)
        sentence = cell(display_line(row.finding.text), room, right=False)
        pieces = [
            (number, "finding--count"),
            (f"{row.sign} ", _INKS.get(row.sign, "")),
            (sentence, ""),
            (where, "finding--where"),
        ]
        return self.strip(pieces, width, self.style("heading"))

    @property
    def _heading_text(self) -> str:
        """Return the number of findings: "10 of 22" if the others are not shown."""
        count, total = len(self.findings), len(self._all)
        number = f"{count}" if count == total else f"{count} of {total}"
        return f" Findings: {self._note or (number if total else 'none')}"

    def draw_heading(self, width: int) -> Strip:
        """Draw the number of findings, and the titles of the columns if a finding has values in them."""
        if not any(row.a for row in self.findings):
            return self.bar(self._heading_text, width)
        widths = self._widths
        titles = (self._heading_text.ljust(_LEAD + widths.what), "A".ljust(widths.a), "B".ljust(widths.b))
        return self.bar(_GAP.join([*titles, "where"]), width)

    def line_base(self, index: int) -> Style:
        """Return the style of a line: all lines of the finding under the cursor are highlighted."""
        return self.style("row--cursor") if self.items[index].owner == self.selected else self.base

    def pieces(self, item: _ScreenLine, index: int, width: int) -> Sequence[Piece]:
        """Return a line of a finding."""
        if item.owner == len(self.findings):
            return [(f" + {item.what}", "")]
        row, widths = self.findings[item.owner], self._widths
        first = index == 0 or self.items[index - 1].owner != item.owner
        text = item.what.ljust(widths.sentence)
        if item.a is not None:
            text = _GAP.join([item.what.ljust(widths.what), item.a.ljust(widths.a), item.b.ljust(widths.b)])
        return [
            (f"{'>' if index == self.cursor else ' '}{row.sign if first else ' '} ", _INKS.get(row.sign, "")),
            (text + _GAP, ""),
            (cell(row.where, widths.where, right=False) if first else "", "finding--where"),
        ]
