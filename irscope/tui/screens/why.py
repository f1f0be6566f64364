"""Why B was compiled after A and whether it was worth it, then all compilations of the capture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from irscope.model import UserError
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.screens import OPEN_REASONS
from irscope.tui.screens.sentences import SentenceScreen, SentenceView
from irscope.tui.widgets.line_view import LineView
from irscope.workspace import TextLine
from irscope.workspace.why_lines import compilation_lines, pair_lines, without_rest


class WhyView(SentenceView):
    """The reasons; first the most important findings only."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the reasons",
        (
            key("enter", "go", "Go to the line that the sentence is about", "go there"),
            key("a", "all_findings", "Show all findings, or the most important ones", "all"),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]

    def __init__(self, heading: str) -> None:
        super().__init__(heading)
        self._all: Sequence[TextLine] = ()
        self._every = False

    def show(self, sentences: Sequence[TextLine]) -> None:
        """Show the sentences, those about less important findings only if the user wants them."""
        self._all = sentences
        super().show(sentences if self._every else list(without_rest(sentences)))

    def action_all_findings(self) -> None:
        """Show all findings, or only the most important ones."""
        self._every = not self._every
        self.show(self._all)


class WhyScreen(SentenceScreen):
    """The reasons of A and B."""

    OPENED_BY: ClassVar[Binding] = OPEN_REASONS
    KEYS: ClassVar[Sequence[KeyGroup]] = (WhyView.KEYS,)
    PANELS: ClassVar[Sequence[type[LineView]]] = (WhyView,)

    def view(self) -> WhyView:
        """Create the panel, with the names of A and B."""
        return WhyView("  ".join(filter(None, self.pair.headings())))

    async def fill(self) -> None:
        """Show the reasons, then also all compilations of the capture."""
        self.query_one(WhyView).show([TextLine("comparing...")])
        try:
            lines = await self.background.run(pair_lines, self.pair.comparison)
        except UserError as error:  # a damaged stage; the compilations can be listed all the same
            lines = [TextLine(str(error))]
        self.show(lines)
        kernels = await self.background.run(self.pair.workspace.compilations)
        self.show([*lines, *compilation_lines(kernels)])
