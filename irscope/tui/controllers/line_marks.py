"""Marks the lines of the stage on screen: the hot loop, matrix instructions, spills, register pressure."""

from __future__ import annotations

from irscope.model import UserError, Variant
from irscope.tui.controllers.main_screen import MainScreen
from irscope.workspace import NO_MARKS, LineMarks, line_marks

# The marks of a stage with 50,000 lines take a few MB.
_KEPT = 16


class LineMarksController:
    """Computes the marks in the background, after the texts are on screen."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._known: dict[tuple[int, str, str], LineMarks] = {}

    def update(self) -> None:
        """Marks the lines of the stage on screen, now if the marks are known."""
        sides = self._sides()
        self._screen.texts.set_marks(*(self._known.get(self._key(side), NO_MARKS) for side in sides))
        if any(self._key(side) not in self._known for side in sides):
            self._screen.run_exclusive(self._measure, "marks")

    async def _measure(self) -> None:
        stage = self._screen.stage
        for variant in self._sides():
            key = self._key(variant)
            if key in self._known:
                continue
            try:
                found = await self._screen.background.run(line_marks, self._screen.workspace, variant, stage)
            except UserError:  # comparing the stages reports damage
                found = NO_MARKS
            self._known[key] = found
            while len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
        if stage == self._screen.stage:
            found_now = [self._known.get(self._key(side), NO_MARKS) for side in self._sides()]
            self._screen.texts.set_marks(*found_now)

    def _sides(self) -> tuple[Variant, Variant]:
        """The variants whose texts are on screen: A's or B's twice if there is only one."""
        pair = self._screen.pair
        only = pair.only_variant(self._screen.stage)
        return (only, only) if only else (pair.a, pair.b)

    def _key(self, variant: Variant) -> tuple[int, str, str]:
        workspace, stage = self._screen.workspace, self._screen.stage
        known = workspace.key(variant, stage) if workspace.available(variant, stage) else ""
        return variant.id, stage, known or ""
