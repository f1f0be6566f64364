"""The line under the texts: where the cursor is, and what differs in the stage."""

from __future__ import annotations

from typing import ClassVar

from irscope.diff.rows import Change
from irscope.tui.detail import Detail
from irscope.tui.search import Search
from irscope.tui.widgets.bar import Bar, Label
from irscope.tui.widgets.diff_view import DiffView


class StatusLine(Bar):
    """`120/281  change 3/41  shapes too  layout, shape   3 added, 0 removed, 41 shapes`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"place", "kinds", "words"}

    def tell(self, texts: DiffView, detail: Detail, search: Search, summary: str) -> None:
        """Says where the cursor of `texts` is, what counts as a change, how its row differs.

        Last, what the stage adds up to.
        """
        page, row = texts.page, texts.row
        place = [f"{row + 1:,}/{len(page.rows):,}"]
        if page.runs:
            place.append(f"change {texts.change_number():,}/{len(page.runs):,}")
        of_a_stage = page.left.language not in (None, "python")
        if page.compared and of_a_stage:
            place.append(detail.value)
        if texts.located and of_a_stage:
            place.append("locations")
        if search.query:
            place.append(str(search))
        change = page.rows[row].change if page.rows else Change.EQUAL
        kinds = ", ".join((kind.name or "").lower() for kind in Change if kind and kind in change)
        parts = (("  ".join(place), "place"), (kinds, "kinds"), (summary, "words"))
        self.set_labels([Label(f" {text} ", style) for text, style in parts if text])
