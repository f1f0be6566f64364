"""LLVM's passes of A and B: what each changed in the module, and what ptxas says of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from irscope.tui.bindings import KeyGroup, key
from irscope.tui.screens import OPEN_LLVM
from irscope.tui.screens.sentences import SentenceScreen, SentenceView
from irscope.tui.widgets.line_view import LineView
from irscope.workspace import TextLine
from irscope.workspace.pass_comparison import llvm_lines


class LlvmView(SentenceView):
    """A line per pass; first only those that changed a module."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In LLVM's passes",
        (key("c", "changed", "Show only passes that changed the module, or all", "changed"),),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]

    def __init__(self, heading: str) -> None:
        super().__init__(heading)
        self._all: Sequence[TextLine] = ()
        self._changed_only = True

    def show(self, sentences: Sequence[TextLine]) -> None:
        """Show the passes, those that changed nothing only if the user wants them."""
        self._all = sentences
        super().show([line for line in sentences if not (line.rest and self._changed_only)])

    def action_changed(self) -> None:
        """Show only passes that changed the module, or all."""
        self._changed_only = not self._changed_only
        self.show(self._all)


class LlvmScreen(SentenceScreen):
    """LLVM's passes of A and B."""

    OPENED_BY: ClassVar[Binding] = OPEN_LLVM
    KEYS: ClassVar[Sequence[KeyGroup]] = (LlvmView.KEYS,)
    PANELS: ClassVar[Sequence[type[LineView]]] = (LlvmView,)

    def view(self) -> LlvmView:
        """Create the panel."""
        return LlvmView("LLVM's passes of the TTGIR, compiled again")

    async def fill(self) -> None:
        """Compiles A and B again and shows the passes."""
        self.query_one(LlvmView).show([TextLine("compiling the TTGIR again...")])
        self.show(await self.background.run(llvm_lines, self.pair.comparison))
