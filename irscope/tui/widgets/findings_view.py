"""The findings: sentences about A and B, most important first."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.analysis.finding import Finding
from irscope.model.text import display_line
from irscope.tui import keys
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import LineView


class FindingsView(LineView):
    """A sentence takes as many lines as it needs; those that can be jumped to are marked with an arrow."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.FINDINGS]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"finding--mark"}

    class Chosen(Message):
        """The user wants to see the lines that prove `finding`."""

        def __init__(self, finding: Finding) -> None:
            super().__init__()
            self.finding = finding

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._findings: Sequence[Finding] = ()
        self._note = ""
        self._lines: list[tuple[int, str]] = []

    def set_findings(self, findings: Sequence[Finding], note: str = "") -> None:
        """Shows these; `note` says in the heading why there are none yet."""
        self._findings, self._note = findings, note
        self._wrap()

    def action_jump(self) -> None:
        """To the proof of the finding under the cursor."""
        if self._lines:
            self.post_message(self.Chosen(self._findings[self._lines[self.cursor][0]]))

    def on_click(self, event: events.Click) -> None:
        """A double click jumps."""
        super().on_click(event)
        if event.chain == 2:
            self.action_jump()

    def on_resize(self) -> None:
        """Other lines fit."""
        self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        width = max(self.scrollable_content_region.width - 3, 20)
        self._lines = [
            (index, line)
            for index, finding in enumerate(self._findings)
            for line in textwrap.wrap(display_line(finding.text), width) or [""]
        ]
        self.lines_changed()

    def line_count(self) -> int:
        """Lines of all sentences."""
        return len(self._lines)

    def draw_heading(self, width: int) -> Strip:
        """How many there are."""
        count = len(self._findings)
        note = self._note or ("nothing that matters" if not count else str(count))
        return self.bar(f" Findings: {note}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A line of a sentence."""
        owner, text = self._lines[index]
        finding = self._findings[owner]
        first = index == 0 or self._lines[index - 1][0] != owner
        base = self.style("row--cursor") if index == self.cursor else self.base
        mark = ("→ " if finding.evidence_a or finding.evidence_b else "• ") if first else "  "
        segments = [Segment(f" {mark}", base + self.ink("finding--mark")), Segment(text, base)]
        return Strip(fitted(segments, width, base), width)
