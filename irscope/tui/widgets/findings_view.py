"""The findings as a table, most important first: what, in A, in B, and where. A line if there is no room."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.model.text import display_line, pluralize
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.paint import cell, fitted
from irscope.tui.widgets.line_view import LineView

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


class FindingsView(LineView):
    """The findings, cells wrapped; with one line of room, only the one under the cursor."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the findings",
        (
            key("enter", "jump", "Go to what the finding is about", "go there"),
            key("a", "all_findings", "Show all findings, or the most important ones", "all"),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "finding--where", "finding--count", "sign--failure", "sign--equal", "sign--severe", "sign--notable",
    }  # fmt: skip

    class FindingChosen(Message):
        """The user wants to see what a finding is about."""

        def __init__(self, row: FindingRow) -> None:
            super().__init__()
            self.row = row

    NUMBERED: ClassVar[str] = "finding"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._all: Sequence[FindingRow] = ()
        self._main = 0  # how many of them are shown by default
        self._every = False
        self._note = ""
        self._widths = _Widths(_LEAST, _LEAST, _LEAST, _LEAST)
        self._lines: list[_ScreenLine] = []

    @property
    def findings(self) -> Sequence[FindingRow]:
        """Return the findings that are shown."""
        return self._all if self._every else self._all[: self._main]

    @property
    def selected(self) -> int:
        """Return the finding under the cursor."""
        return self._lines[self.cursor].owner if self._lines else 0

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
        if [row.finding for row in findings] != [row.finding for row in self._all]:
            self.cursor = 0
        self._all, self._main, self._note = findings, main, note
        self._wrap()

    def step(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) finding; past the last one, to the first."""
        owners = len(self.findings)
        if owners:
            owner = (self.selected + direction) % owners
            self.cursor = next(i for i, line in enumerate(self._lines) if line.owner == owner)
            last = max(i for i, line in enumerate(self._lines) if line.owner == owner)
            self.reveal(last)
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

    def action_jump(self) -> None:
        """Goes to what the finding under the cursor is about, or shows all findings."""
        owner = self.selected
        if self._lines and owner < len(self.findings):
            self.post_message(self.FindingChosen(self.findings[owner]))
        elif self._lines:
            self.action_all_findings()

    def on_click(self, event: events.Click) -> None:
        """Go there on a double click."""
        if not self.one_line:
            super().on_click(event)
        if event.chain == 2:
            self.action_jump()

    def on_resize(self) -> None:
        """Wrap the findings again."""
        self._wrap()
        super().on_resize()

    # Layout.

    def _wrap(self) -> None:
        before = self.selected
        self._widths = self._sized(self.scrollable_content_region.width)
        self._lines = [line for owner in range(len(self.findings)) for line in self._cells(owner)]
        if rest := len(self._all) - len(self.findings):
            self._lines.append(_ScreenLine(len(self.findings), pluralize(rest, "more finding")))
        self.lines_changed()
        if before != self.selected:
            self.set_reactive(LineView.cursor, self._first_line(before))

    def _first_line(self, owner: int) -> int:
        return next((i for i, line in enumerate(self._lines) if line.owner == owner), 0)

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
        """Yield the lines of a finding: in columns, or across them if that is much shorter."""
        row, widths = self.findings[owner], self._widths
        sentence = textwrap.wrap(display_line(row.finding.text), widths.sentence) or [""]
        sizes = ((row.what, widths.what), (row.a, widths.a), (row.b, widths.b))
        columns = [textwrap.wrap(display_line(text), width) for text, width in sizes]
        height = max(map(len, columns))
        if not row.a or height > len(sentence) + 1:
            yield from (_ScreenLine(owner, line) for line in sentence)
            return
        for index in range(height):
            what, a, b = (lines[index] if index < len(lines) else "" for lines in columns)
            yield _ScreenLine(owner, what, a, b)

    # Drawing.

    def line_numbered(self, number: int) -> int | None:
        """Return the first line of a finding, counted from 1."""
        return self._first_line(number - 1) if 0 < number <= len(self.findings) else None

    def line_count(self) -> int:
        """Return the number of wrapped lines."""
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """Draws a line of the panel; with one line of room, the finding under the cursor."""
        if self.one_line:
            return self._draw_one(self.scrollable_content_region.width)
        return super().render_line(y)

    def _draw_one(self, width: int) -> Strip:
        """`1/7 ! Occupancy: 50% -> 12.5%  column Occupancy`."""
        style = self.style("heading")
        if not self.findings:
            return self.bar(self._heading_text, width)
        owner = min(self.selected, len(self.findings) - 1)
        row = self.findings[owner]
        number = f" {owner + 1}/{len(self.findings)} "
        where = f"  {row.where} "
        room = max(width - len(number) - 2 - len(where), 0)
        ink = style + self.ink(_INKS[row.sign]) if row.sign in _INKS else style
        segments = [
            Segment(number, style + self.ink("finding--count")),
            Segment(f"{row.sign} ", ink),
            Segment(cell(display_line(row.finding.text), room, right=False), style),
            Segment(where, style + self.ink("finding--where")),
        ]
        return Strip(fitted(segments, width, style), width)

    @property
    def _heading_text(self) -> str:
        """Return the number of findings: "10 of 22" if the others are not shown."""
        count, total = len(self.findings), len(self._all)
        number = f"{count}" if count == total else f"{count} of {total}"
        return f" Findings: {self._note or (number if total else 'none')}"

    def draw_heading(self, width: int) -> Strip:
        """Draw the number of findings, and the titles of the columns."""
        if not self.findings:
            return self.bar(self._heading_text, width)
        widths = self._widths
        titles = (self._heading_text.ljust(_LEAD + widths.what), "A".ljust(widths.a), "B".ljust(widths.b))
        return self.bar(_GAP.join([*titles, "where"]), width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a line of a finding."""
        line, widths = self._lines[index], self._widths
        base = self.style("row--cursor") if line.owner == self.selected else self.base
        first = index == 0 or self._lines[index - 1].owner != line.owner
        if line.owner == len(self.findings):
            return Strip(fitted([Segment(f" + {line.what}", base)], width, base), width)
        row = self.findings[line.owner]
        sign = f"{'>' if index == self.cursor else ' '}{row.sign if first else ' '} "
        ink = base + self.ink(_INKS[row.sign]) if row.sign in _INKS else base
        if line.a is None:
            text = line.what.ljust(widths.sentence)
        else:
            text = _GAP.join([line.what.ljust(widths.what), line.a.ljust(widths.a), line.b.ljust(widths.b)])
        where = cell(row.where, widths.where, right=False) if first else ""
        segments = [Segment(sign, ink), Segment(f"{text}{_GAP}", base)]
        segments.append(Segment(where, base + self.ink("finding--where")))
        return Strip(fitted(segments, width, base), width)
