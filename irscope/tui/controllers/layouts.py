"""From the line under the cursor to the layouts of what is on it."""

from __future__ import annotations

import re

from irscope.tui.controllers.base import ComparisonScreen
from irscope.tui.screens.layout import LayoutScreen
from irscope.workspace import PYTHON

_NAMES = re.compile(r"%[\w$.-]+(?:#\d+)?|#[A-Za-z_]\w*")
_MOST_NAMES = 40


class LayoutActions(ComparisonScreen):
    """Opens the screen of the layouts."""

    def action_layout(self) -> None:
        """The layouts of A and B, beginning with the value on the line."""
        comparison = self._comparison
        if "ttgir" not in comparison.stages:
            self.notify("No TTGIR: there are no layouts to draw", severity="warning")
            return
        wanted, right = self._on_line()
        self.app.push_screen(LayoutScreen(comparison, self._background, wanted, right))

    def _on_line(self) -> tuple[list[str], bool]:
        """What the line under the cursor names, and whether it is B's."""
        line, right = self._texts.place
        if self._stage == PYTHON:
            kernel = self._variant(right).kernel
            return [f":{kernel.source.line + line}"], right
        if self._stage != "ttgir":
            return [], right
        text = (self._texts.line_text(right) or "")[:2000]
        return _NAMES.findall(text)[:_MOST_NAMES], right
