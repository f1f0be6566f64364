"""The parts of the main screen, one per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen


class Controller:
    """A part of the main screen, which has the panels, the other controllers, A and B."""

    def __init__(self, screen: CompareScreen) -> None:
        self._screen = screen
