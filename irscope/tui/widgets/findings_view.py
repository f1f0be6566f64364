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

from irscope.model.text import display_line, pluralize
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import LineView
from irscope.workspace import Finding


class FindingsView(LineView):
    """The findings, wrapped; those with lines that prove them have an arrow."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the findings",
        (
            key("enter", "jump", "Go to the lines that prove the finding", "go there"),
            key("a", "all_findings", "Show all findings, or the most important ones", "all"),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"finding--mark"}

    class FindingChosen(Message):
        """The user wants to see the lines that prove `finding`."""

        def __init__(self, finding: Finding) -> None:
            super().__init__()
            self.finding = finding

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._all: Sequence[Finding] = ()
        self._main = 0  # how many of them are shown by default
        self._every = False
        self._note = ""
        self._lines: list[tuple[int, str]] = []

    @property
    def _findings(self) -> Sequence[Finding]:
        return self._all if self._every else self._all[: self._main]

    def set_findings(self, findings: Sequence[Finding], main: int = 0, note: str = "") -> None:
        """Shows the first `main` findings, or all; a `note` replaces their number in the heading."""
        self._all, self._main, self._note = findings, main, note
        self._wrap()

    def action_all_findings(self) -> None:
        """Shows all findings, or only the most important ones."""
        self._every = not self._every
        self._wrap()

    def action_jump(self) -> None:
        """Goes to the lines that prove the finding under the cursor, or shows all findings."""
        owner = self._lines[self.cursor][0] if self._lines else None
        if owner is not None and owner < len(self._findings):
            self.post_message(self.FindingChosen(self._findings[owner]))
        elif owner is not None:
            self.action_all_findings()

    def on_click(self, event: events.Click) -> None:
        """A double click goes there."""
        super().on_click(event)
        if event.chain == 2:
            self.action_jump()

    def on_resize(self) -> None:
        """Wraps the findings again."""
        self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        width = max(self.scrollable_content_region.width - 3, 20)
        self._lines = [
            (index, line)
            for index, finding in enumerate(self._findings)
            for line in textwrap.wrap(display_line(finding.text), width) or [""]
        ]
        if rest := len(self._all) - len(self._findings):
            self._lines.append((len(self._findings), pluralize(rest, "more finding")))
        self.lines_changed()

    def line_count(self) -> int:
        """The number of wrapped lines."""
        return len(self._lines)

    def draw_heading(self, width: int) -> Strip:
        """The number of findings: "10 of 22" if the others are not shown."""
        count, total = len(self._findings), len(self._all)
        number = f"{count}" if count == total else f"{count} of {total}"
        return self.bar(f" Findings: {self._note or (number if total else 'none')}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A line of a finding."""
        owner, text = self._lines[index]
        first = index == 0 or self._lines[index - 1][0] != owner
        base = self.style("row--cursor") if index == self.cursor else self.base
        mark = self._mark(owner) if first else "  "
        segments = [Segment(f" {mark}", base + self.ink("finding--mark")), Segment(text, base)]
        return Strip(fitted(segments, width, base), width)

    def _mark(self, owner: int) -> str:
        if owner == len(self._findings):
            return "+ "
        finding = self._findings[owner]
        return "→ " if finding.evidence_a or finding.evidence_b else "• "
