"""The line under the texts: where the cursor is, and what differs in the stage."""

from __future__ import annotations

from typing import ClassVar

from irscope.diff.rows import Change
from irscope.tui.widgets.bar import Bar, Label


class StatusLine(Bar):
    """`change 3/41  layout, shape   ttgir: 41 shapes, 2 layouts`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"place", "kinds", "words"}

    def tell(self, place: str, change: Change, words: str) -> None:
        """Shows these three, each where it is not empty."""
        kinds = ", ".join((kind.name or "").lower() for kind in Change if kind and kind in change)
        self.set_labels(
            [
                Label(f" {text} ", style)
                for text, style in ((place, "place"), (kinds, "kinds"), (words, "words"))
                if text
            ]
        )
