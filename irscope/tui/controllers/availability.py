"""Why an action of the main screen cannot act now: its key is dimmed, and pressing it says this."""

from __future__ import annotations

from irscope.tui.controllers.main_screen import MainScreen
from irscope.workspace import PYTHON, can_build_from

_SAME = "A and B are the same variant; make another one B in the table"


def unavailable(screen: MainScreen, action: str, parameters: tuple[object, ...]) -> str:
    """Why `action` cannot act now, in one line; "" if it can."""
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
