"""How long A and B take according to the estimate, which resource bounds each, and why one is slower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from irscope.tui.bindings import KeyGroup, key
from irscope.tui.screens import OPEN_ESTIMATE
from irscope.tui.screens.sentences import SentenceScreen, SentenceView
from irscope.tui.widgets.line_view import LineView
from irscope.workspace import TextLine
from irscope.workspace.estimate_comparison import pair_estimate_lines


class EstimateView(SentenceView):
    """The terms of the estimates, each with a bar; those with code behind them have an arrow."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the estimate",
        (key("enter", "go", "Go to the code behind the term", "go there", name="go_to_term"),),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]


class EstimateScreen(SentenceScreen):
    """The estimates of A and B."""

    OPENED_BY: ClassVar[Binding] = OPEN_ESTIMATE
    KEYS: ClassVar[Sequence[KeyGroup]] = (EstimateView.KEYS,)
    PANELS: ClassVar[Sequence[type[LineView]]] = (EstimateView,)

    def view(self) -> EstimateView:
        """Create the panel."""
        return EstimateView("Estimated time, without a GPU: an estimate, not a measurement")

    async def fill(self) -> None:
        """Estimates A and B."""
        self.query_one(EstimateView).show([TextLine("estimating...")])
        self.show(await self.background.run(pair_estimate_lines, self.pair.comparison))
