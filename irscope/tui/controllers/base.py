"""What the parts of the main screen know of it."""

from __future__ import annotations

from textual.screen import Screen

from irscope.model import Variant
from irscope.tui.background import Background
from irscope.tui.pair_state import PairState
from irscope.tui.widgets.diff_view import DiffView


class ComparisonScreen(Screen[None]):
    """A screen that shows a stage of A and B."""

    _background: Background
    _comparison: PairState
    _stage: str

    @property
    def _texts(self) -> DiffView:
        return self.query_one(DiffView)

    def _choose(self, stage: str) -> None:
        """Shows a stage that the user picked."""
        raise NotImplementedError

    def _pair(self, a: Variant, b: Variant) -> None:
        """Compares another two variants."""
        raise NotImplementedError

    def _show(self, stage: str) -> None:
        """Shows a stage, or shows it anew."""
        raise NotImplementedError

    def _update_tabs(self) -> None:
        """Draws the tabs anew."""
        raise NotImplementedError

    def _still_looking(self) -> bool:
        """Whether another stage may still be shown by itself."""
        raise NotImplementedError

    def _variant(self, right: bool) -> Variant:
        """The variant whose text is shown: B, or A where that is asked for or stands alone."""
        comparison = self._comparison
        alone = comparison.alone(self._stage)
        if alone is not None:
            return alone
        return comparison.b if right else comparison.a
