"""A screen of sentences about A and B; those about a line of a stage lead to it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.model import UserError
from irscope.model.text import display_line
from irscope.tui.background import Background
from irscope.tui.bindings import LEAVE, READ
from irscope.tui.controllers.main_screen import MainScreen
from irscope.tui.paint import fitted
from irscope.tui.pair_state import PairState
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.bars import KeyHints
from irscope.tui.widgets.line_view import LineView
from irscope.workspace import StageLine, TextLine

_INDENT = 2


class SentenceView(LineView):
    """Sentences, wrapped; those about a line of a stage have an arrow."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"line--title", "line--mark"}

    class TargetChosen(Message):
        """The user wants to see the line that a sentence is about."""

        def __init__(self, target: StageLine) -> None:
            super().__init__()
            self.target = target

    def __init__(self, heading: str) -> None:
        super().__init__()
        self._heading = heading
        self._sentences: Sequence[TextLine] = ()
        self._lines: list[tuple[int, bool, str]] = []  # sentence, whether its first line, text

    def show(self, sentences: Sequence[TextLine]) -> None:
        """Show sentences."""
        self._sentences = sentences
        self._wrap()

    def action_go(self) -> None:
        """Goes to the line that the sentence is about."""
        target = self._sentences[self._lines[self.cursor][0]].target if self._lines else None
        if target is not None:
            self.post_message(self.TargetChosen(target))

    def on_click(self, event: events.Click) -> None:
        """Go there on a double click."""
        super().on_click(event)
        if event.chain == 2:
            self.action_go()

    def on_resize(self) -> None:
        """Wrap the sentences again."""
        self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = []
        for index, sentence in enumerate(self._sentences):
            if sentence.title and index:
                self._lines.append((index, False, ""))
            room = max(width - _INDENT * (sentence.level + 1) - 1, 20)
            lines = textwrap.wrap(display_line(sentence.text), room) or [""]
            self._lines += [(index, part == 0, line) for part, line in enumerate(lines)]
        self.lines_changed()

    def landmarks(self) -> Sequence[int]:
        """Return the lines with an arrow."""
        owners = enumerate(self._lines)
        return [index for index, (owner, first, _) in owners if first and self._sentences[owner].target]

    def line_count(self) -> int:
        """Return the number of wrapped lines."""
        return len(self._lines)

    def draw_heading(self, width: int) -> Strip:
        """Draw the heading."""
        return self.bar(f" {self._heading}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a line of a sentence."""
        owner, first, text = self._lines[index]
        sentence = self._sentences[owner]
        base = self.style("row--cursor") if index == self.cursor else self.base
        mark = ("→ " if sentence.target else "  ") if first else "  "
        ink = base + self.ink("line--title") if sentence.title else base
        before = " " * (_INDENT * sentence.level - 1 if sentence.level else 0)
        segments = [
            Segment(" " if sentence.title else f" {before}{mark}", base + self.ink("line--mark")),
            Segment(text, ink),
        ]
        return Strip(fitted(segments, width, base), width)


class SentenceScreen(ReadingScreen[StageLine]):
    """Returns the line that the user wants to see, if any. A subclass has `view` and `fill`."""

    BINDINGS: ClassVar[list[BindingType]] = [*READ.bindings, *LEAVE.bindings]

    @classmethod
    def open(cls, main: MainScreen, line: int = 0) -> None:
        """Show the screen with the cursor on `line`; going back from a jump reopens it."""
        screen = cls(main.pair, main.background, line)

        def go(target: StageLine | None) -> None:
            main.go_to(target, partial(cls.open, main, screen.line))

        main.app.push_screen(screen, go)

    def __init__(self, pair: PairState, background: Background, line: int = 0) -> None:
        super().__init__()
        self.pair = pair
        self.background = background
        # The line under the cursor when the screen opens and when it closes.
        self.line = line

    def view(self) -> SentenceView:
        """Create the panel, without sentences."""
        raise NotImplementedError

    async def fill(self) -> None:
        """Make the sentences in the background and show them. May raise UserError."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yield the panel, the search bar and the keys."""
        yield self.view()
        yield self.search_bar
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Start to make the sentences."""
        self.reading.focus()
        self._fill()

    def show(self, sentences: Sequence[TextLine]) -> None:
        """Show sentences, with the cursor as at the last visit, unless the user has moved it meanwhile."""
        view = self.query_one(SentenceView)
        view.show(sentences)
        if self.line and not view.cursor:
            view.cursor = self.line

    @work(exclusive=True, group="sentences", exit_on_error=False)
    async def _fill(self) -> None:
        try:
            await self.fill()
        except UserError as error:  # a damaged stage
            self.show([TextLine(str(error))])

    @on(SentenceView.TargetChosen)
    def _go_to_target(self, message: SentenceView.TargetChosen) -> None:
        self.line = self.query_one(SentenceView).cursor
        self.dismiss(message.target)
