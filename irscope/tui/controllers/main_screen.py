"""The main screen's interface for controllers and for the screens over it.

Why an action of the main screen cannot act now: its key is dimmed, and pressing it says this.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Literal, Protocol

from textual.app import App
from textual.widget import Widget
from textual.worker import Worker

from irscope.model import Variant
from irscope.tui.background import Background
from irscope.workspace.variant_texts import PYTHON
from irscope.workspace.what_if import can_build_from

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

    def action_open(self, name: str) -> None:
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


_SAME = "A and B are the same variant; make another one B in the table"


def unavailable(screen: MainScreen, action: str, parameters: tuple[object, ...]) -> str:
    """Return why `action` cannot act now, in one line, or "" if it can."""
    pair, page = screen.pair, screen.texts.page
    reason = ""
    match action, parameters:
        case ("swap", _) if pair.single:
            reason = _SAME
        case (("change" | "detail" | "toggle_folded"), _) if not page.compared:
            reason = _not_compared(screen)
        case ("change", _) if not page.runs:
            reason = f"A and B do not differ in {screen.stage}"
        case ("detail", _) if screen.stage == PYTHON:
            reason = "The Python source has one level of detail"
        case ("toggle_unified", _) if page.right is None:
            reason = "Only one text is on screen"
        case ("open", ("layout",)) if "ttgir" not in pair.stages:
            reason = "There are no layouts without TTGIR"
        case ("open", ("estimate",)) if not (pair.a.launches or pair.b.launches):
            reason = "No launches were recorded; irscope pick --launch estimates one that you write"
        case ("open", ("passes",)) if not (pair.has_passes or screen.can_compile):
            reason = "No passes were recorded; compile with --passes, or irscope CAPTURE in a terminal can"
        case ("edit_stage", _) if not can_build_from(screen.stage):
            reason = f"Nothing can be built from {screen.stage}: choose ttir, ttgir, llir or the assembly"
        case ("stage", (int() as number,)) if number > len(pair.stages):
            reason = f"There are only {len(pair.stages)} stages"
    return reason


def _not_compared(screen: MainScreen) -> str:
    if screen.pair.single:
        return _SAME
    if screen.texts.page.right is None:
        return "Only one text is on screen: there is nothing to compare it with"
    return f"{screen.stage} is not compared yet"
