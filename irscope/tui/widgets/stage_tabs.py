"""The stage tabs: which stage is on show, and what differs in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.reactive import var

from irscope.tui.widgets.bar import Bar, Label

# Of which nothing is known yet.
_OPEN = ("·", "…")


class StageTabs(Bar):
    """`1 ttir =  2 ttgir 2 layouts`; only the signs where the words do not fit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tab", "tab--active", "tab--differs"}

    active: var[str] = var("", init=False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.stages: Sequence[str] = ()
        self._notes: Mapping[str, str] = {}

    def set_stages(self, stages: Sequence[str], notes: Mapping[str, str]) -> None:
        """Shows these stages; a note says what differs ("" where nothing is to be compared)."""
        self.stages, self._notes = stages, dict(notes)
        self.refresh()

    def watch_active(self) -> None:
        """Draws the tab that is on show as such."""
        self.refresh()

    def labels(self, width: int) -> Sequence[Label]:
        """The tabs, with whole notes if these fit; the first ones give way to the one on show."""
        tabs = [self._label(number, stage, False) for number, stage in enumerate(self.stages, 1)]
        if _width(tabs) > width:
            tabs = [self._label(number, stage, True) for number, stage in enumerate(self.stages, 1)]
        place = self.stages.index(self.active) if self.active in self.stages else 0
        first = 0
        while first < place and _width(tabs[first : place + 1]) > width:
            first += 1
        return tabs[first:]

    def _label(self, number: int, stage: str, short: bool) -> Label:
        note = self._notes.get(stage, "")
        differs = bool(note) and note not in ("=", *_OPEN)
        if short and differs and stage != self.active:
            note = "~"
        style = "tab--active" if stage == self.active else "tab--differs" if differs else "tab"
        text = f" {number} {stage} {note} " if note else f" {number} {stage} "
        return Label(text, style, f"screen.stage({number})")


def _width(labels: Sequence[Label]) -> int:
    return sum(len(label.text) for label in labels)
