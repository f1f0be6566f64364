"""The screens of sentences about A and B; those about a line of a stage lead to it.

Why B was compiled after A and whether it was worth it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from irscope.document.blocks import Line, Table
from irscope.document.comparison_content import sentences
from irscope.model import UserError
from irscope.tui.bindings import LEAVE, READ, KeyGroup, key
from irscope.tui.screens import OPEN_REASONS
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.document_view import DocumentView
from irscope.workspace import StageLine, TextLine
from irscope.workspace.why_lines import compilation_lines, pair_lines, without_rest

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen


class DocumentScreen(ReadingScreen[StageLine]):
    """Returns the line that the user wants to see, if any. A subclass has `fill`."""

    # The text of the first line, and what is shown until the document is made.
    HEADING: ClassVar[str] = ""
    WAITING: ClassVar[str]

    @classmethod
    def open(cls, main: CompareScreen, line: int = 0) -> None:
        """Show the screen with the cursor on `line`; going back from a jump reopens it."""
        screen = cls(main, line)

        def go(target: StageLine | None) -> None:
            main.navigation.go_to(target, partial(cls.open, main, screen.line))

        main.app.push_screen(screen, go)

    def __init__(self, main: CompareScreen, line: int = 0) -> None:
        self._view = DocumentView(self.HEADING or "  ".join(filter(None, main.pair.headings())))
        super().__init__(self._view)
        self.main = main
        self.pair = main.pair
        self.background = main.background
        # The line under the cursor when the screen opens and when it closes.
        self.line = line
        # Whether lines that matter less are shown, too.
        self.every = False
        self._lines: Sequence[TextLine] = ()

    async def fill(self) -> None:
        """Make the lines in the background and show them. May raise UserError."""
        raise NotImplementedError

    def shown(self, lines: Sequence[TextLine]) -> Sequence[TextLine]:
        """Return the lines without those that matter less."""
        return [line for line in lines if not line.rest]

    def on_mount(self) -> None:
        """Start to make the lines."""
        self.show([TextLine(self.WAITING)])
        self._fill()

    def show(self, lines: Sequence[TextLine]) -> None:
        """Show lines, all of them or the most important ones."""
        self._lines = lines
        self.show_blocks(sentences(lines if self.every else self.shown(lines)))

    def show_blocks(self, document: Iterable[Line | Table]) -> None:
        """Show a document, with the cursor as at the last visit, unless the user has moved it meanwhile."""
        view = self._view
        view.show_document(document)
        if self.line and not view.cursor:
            view.cursor = self.line

    @work(exclusive=True, group="sentences", exit_on_error=False)
    async def _fill(self) -> None:
        try:
            await self.fill()
        except UserError as error:  # a damaged stage
            self.show([TextLine(str(error))])

    def action_rest(self) -> None:
        """Show all lines, or only the most important ones."""
        self.every = not self.every
        self.show(self._lines)

    @on(DocumentView.Chosen)
    def action_go(self) -> None:
        """Goes to the line that the sentence under the cursor is about."""
        if target := self._view.target:
            self.line = self._view.cursor
            self.dismiss(target)


class WhyScreen(DocumentScreen):
    """The reasons of A and B, then all compilations of the capture."""

    OPENED_BY: ClassVar[Binding] = OPEN_REASONS
    KEYS: ClassVar[Sequence[KeyGroup]] = (
        KeyGroup(
            "In the reasons",
            (
                key("enter", "go", "Go to the line that the sentence is about", "go there"),
                key("a", "rest", "Show all findings, or the most important ones", "all", name="all_findings"),
            ),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS[0].bindings, *READ.bindings, *LEAVE.bindings]
    WAITING = "comparing..."

    def shown(self, lines: Sequence[TextLine]) -> Sequence[TextLine]:
        """Return the lines with only the most important findings, and how many more there are."""
        return list(without_rest(lines))

    async def fill(self) -> None:
        """Show the reasons, then also all compilations of the capture."""
        try:
            lines = await self.background.run(pair_lines, self.pair.comparison)
        except UserError as error:  # a damaged stage; the compilations can be listed all the same
            lines = [TextLine(str(error))]
        self.show(lines)
        kernels = await self.background.run(self.pair.workspace.compilations)
        self.show([*lines, *compilation_lines(kernels)])
