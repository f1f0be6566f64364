"""How long A and B take according to the estimate, which resource bounds each, and why one is slower."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from irscope.model import UserError
from irscope.tui.background import Background
from irscope.tui.bindings import LEAVE, MOVE, READ, KeyGroup, key
from irscope.tui.controllers.main_screen import MainScreen
from irscope.tui.pair_state import PairState
from irscope.tui.screens import OPEN_ESTIMATE
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.screens.why import WhyView
from irscope.tui.widgets.bars import KeyHints
from irscope.tui.widgets.line_view import LineView
from irscope.workspace import StageLine, TextLine, pair_estimate_lines


class EstimateView(WhyView, inherit_bindings=False):
    """The terms of the estimates, each with a bar; those with code behind them have an arrow."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the estimate",
        (key("enter", "go", "Go to the code behind the term", "go there", name="go_to_term"),),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*MOVE.bindings, *KEYS.bindings]


class EstimateScreen(ReadingScreen[StageLine]):
    """Returns the line that the user wants to see, if any."""

    OPENED_BY: ClassVar[Binding] = OPEN_ESTIMATE
    KEYS: ClassVar[Sequence[KeyGroup]] = (EstimateView.KEYS,)
    PANELS: ClassVar[Sequence[type[LineView]]] = (EstimateView,)
    BINDINGS: ClassVar[list[BindingType]] = [*READ.bindings, *LEAVE.bindings]

    @classmethod
    def open(cls, main: MainScreen, line: int = 0) -> None:
        """Shows the estimates, with the cursor on `line`; going back from a jump reopens it."""
        screen = cls(main.pair, main.background, line)

        def go(target: StageLine | None) -> None:
            main.go_to(target, partial(cls.open, main, screen.line))

        main.app.push_screen(screen, go)

    def __init__(self, pair: PairState, background: Background, line: int = 0) -> None:
        super().__init__()
        self._pair = pair
        self._background = background
        # The line under the cursor when the screen opens and when it closes.
        self.line = line

    def compose(self) -> ComposeResult:
        """The panel, the search bar and the keys."""
        yield EstimateView("Estimated time, without a GPU: an estimate, not a measurement")
        yield self.search_bar
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Starts to estimate."""
        self.query_one(EstimateView).focus()
        self._estimate()

    @work(exclusive=True, group="estimate", exit_on_error=False)
    async def _estimate(self) -> None:
        view = self.query_one(EstimateView)
        view.show([TextLine("estimating...")])
        try:
            lines = await self._background.run(pair_estimate_lines, self._pair.comparison)
        except UserError as error:  # a damaged stage
            lines = [TextLine(str(error))]
        view.show(lines)
        if self.line and not view.cursor:
            view.cursor = self.line

    @on(WhyView.TargetChosen)
    def _go_to_target(self, message: WhyView.TargetChosen) -> None:
        self.line = self.query_one(EstimateView).cursor
        self.dismiss(message.target)
