"""Why it was compiled again, and was it worth it: A and B, then the whole capture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui import keys
from irscope.tui.background import Background
from irscope.tui.columns import FactTable
from irscope.tui.paint import fitted
from irscope.tui.pair_state import PairState
from irscope.tui.why_lines import Goal, TextLine, pair_lines, story_lines
from irscope.tui.widgets.key_hints import KeyHints
from irscope.tui.widgets.line_view import LineView

_INDENT = 2


class WhyView(LineView):
    """Sentences, wrapped to the width; those that can be seen in a stage are marked with an arrow."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.WHY]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"told--title", "told--mark"}

    class Chosen(Message):
        """The user wants to see what a sentence is about."""

        def __init__(self, goal: Goal) -> None:
            super().__init__()
            self.goal = goal

    def __init__(self, heading: str) -> None:
        super().__init__()
        self._heading = heading
        self._told: Sequence[TextLine] = ()
        self._lines: list[tuple[int, bool, str]] = []  # sentence, whether its first line, text

    def show(self, told: Sequence[TextLine]) -> None:
        """Shows these sentences."""
        self._told = told
        self._wrap()

    def action_go(self) -> None:
        """To what the sentence under the cursor is about."""
        goal = self._told[self._lines[self.cursor][0]].goal if self._lines else None
        if goal is not None:
            self.post_message(self.Chosen(goal))

    def on_click(self, event: events.Click) -> None:
        """A double click goes there."""
        super().on_click(event)
        if event.chain == 2:
            self.action_go()

    def on_resize(self) -> None:
        """Other lines fit."""
        self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = []
        for index, told in enumerate(self._told):
            if told.title and index:
                self._lines.append((index, False, ""))
            room = max(width - _INDENT * (told.level + 1) - 1, 20)
            lines = textwrap.wrap(display_line(told.text), room) or [""]
            self._lines += [(index, place == 0, line) for place, line in enumerate(lines)]
        self.lines_changed()

    def line_count(self) -> int:
        """Lines of all sentences."""
        return len(self._lines)

    def draw_heading(self, width: int) -> Strip:
        """Which two it is about."""
        return self.bar(f" {self._heading}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A line of a sentence."""
        owner, first, text = self._lines[index]
        told = self._told[owner]
        base = self.style("row--cursor") if index == self.cursor else self.base
        mark = ("→ " if told.goal else "  ") if first else "  "
        ink = base + self.ink("told--title") if told.title else base
        before = " " * (_INDENT * told.level - 1 if told.level else 0)
        segments = [
            Segment(" " if told.title else f" {before}{mark}", base + self.ink("told--mark")),
            Segment(text, ink),
        ]
        return Strip(fitted(segments, width, base), width)


class WhyScreen(Screen[Goal]):
    """Returns the line that the user wants to see, None for none."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.LEAVE]

    def __init__(self, comparison: PairState, background: Background, facts: FactTable) -> None:
        super().__init__()
        self._comparison = comparison
        self._background = background
        self._facts = facts

    def compose(self) -> ComposeResult:
        """One panel and the keys."""
        yield WhyView("  ".join(filter(None, self._comparison.headings())))
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """What takes long comes when it is there."""
        self.query_one(WhyView).focus()
        self._tell()

    @work(exclusive=True, group="why", exit_on_error=False)
    async def _tell(self) -> None:
        view = self.query_one(WhyView)
        view.show([TextLine("comparing...")])
        told = await self._background.run(pair_lines, self._comparison)
        view.show(told)
        known = dict(self._facts.known)
        view.show([*told, *await self._background.run(story_lines, self._comparison.workspace, known)])

    @on(WhyView.Chosen)
    def _chosen(self, message: WhyView.Chosen) -> None:
        self.dismiss(message.goal)

    def action_close(self) -> None:
        """Back to the texts."""
        self.dismiss(None)
