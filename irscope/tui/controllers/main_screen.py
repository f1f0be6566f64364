"""The main screen's interface for controllers and for the screens over it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Literal, Protocol

from textual.app import App
from textual.widget import Widget
from textual.worker import Worker

from irscope.model import Variant
from irscope.tui.background import Background

if TYPE_CHECKING:
    from irscope.tui.pair_state import PairState
    from irscope.tui.widgets.diff_view import DiffView
    from irscope.tui.widgets.variant_table import VariantTable
    from irscope.workspace import StageLine, Workspace


class MainScreen(Protocol):
    """The screen that shows a stage of A and B."""

    workspace: Workspace
    background: Background

    can_compile: bool

    @property
    def app(self) -> App[object]:
        """Return the app."""

    @property
    def focused(self) -> Widget | None:
        """Return the panel that has the focus."""

    @property
    def is_active(self) -> bool:
        """Return True if no other screen is over this one."""

    @property
    def pair(self) -> PairState:
        """Return A and B."""

    @property
    def stage(self) -> str:
        """Return the stage on screen."""

    @property
    def texts(self) -> DiffView:
        """Return the panel with the texts of A and B."""

    @property
    def table(self) -> VariantTable:
        """Return the table of variants."""

    def compare(self, a: Variant, b: Variant) -> None:
        """Compare another two variants."""

    def choose(self, stage: str) -> None:
        """Show a stage that the user picked."""

    def go_to(self, target: StageLine | None, reopen: Callable[[], object] | None = None) -> None:
        """Show a line of a stage; nothing for None. Going back then calls `reopen`."""

    def remember_place(self, reopen: Callable[[], object] | None = None) -> None:
        """Remembers where the user is, to go back to; going back then calls `reopen`."""

    def open_overlay(self, name: str) -> None:
        """Open a screen over this one: "why", "passes", "layout", "chart"."""

    def offer_passes(self) -> None:
        """Asks whether to compile A and B once more with the passes that were not recorded."""

    def page_changed(self) -> None:
        """Update what depends on the page on screen."""

    def update_status(self) -> None:
        """Redraws the status line."""

    def run_exclusive(self, work: Callable[[], Coroutine[None, None, None]], group: str) -> Worker[None]:
        """Run `work` in the app's thread and cancel earlier work of the same group."""

    def set_interval(self, interval: float, callback: Callable[[], None]) -> object:
        """Call `callback` again and again, after `interval` seconds each."""

    def call_after_refresh(self, callback: Callable[[], None]) -> bool:
        """Run `callback` after the next paint."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Literal["information", "warning", "error"] = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a message."""


def shown_variant(screen: MainScreen, right: bool) -> Variant:
    """Return the variant whose text is on screen: B if `right`, else A; the only one if one is shown."""
    pair = screen.pair
    only = pair.only_variant(screen.stage)
    if only is not None:
        return only
    return pair.b if right else pair.a
